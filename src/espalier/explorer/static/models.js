// What a grid shows of a trace: its values, the residual stream, a head's attention.
import { number, tint } from "./dom.js";

const codeOf = (data, columns, variable, position) => data.columns[columns[variable]][position];
export const changedAt = (data, step, variable, position) => step.before !== null &&
  codeOf(data, step.now, variable, position) !== codeOf(data, step.before, variable, position);

// The code behind a value's name, where it has one.
export function coded(data, code) {
  const value = data.values[code];
  const plain = Array.isArray(value) ? `{${value}}` : `${value}`;
  return value === null || data.shown[code] === plain ? "" : `code ${plain}`;
}

// How many values each step wrote. Columns are compared by number: the same number, no change.
export const tally = (data) => data.steps.map((step) => step.before === null ? 0
  : step.now.reduce((sum, column, variable) => column === step.before[variable] ? sum
    : sum + data.columns[column].reduce((some, code, position) =>
      some + (data.values[code] !== null && code !== data.columns[step.before[variable]][position]), 0), 0));

// The first position at which a rule or a head wrote something, with its variable.
export function firstWritten(data, at, { left, right }) {
  const step = data.steps[at];
  if (step.before === null) return null;
  let first = null;
  for (let variable = 0; variable < data.names.length; variable++) {
    if (step.now[variable] === step.before[variable] || (variable in data.heads && step.place % 2 === 0)) continue;
    for (let position = 0; position < data.tokens.length; position++) {
      if (!changedAt(data, step, variable, position)) continue;
      if (position >= left && position < right) return null; // in sight already
      first ??= [variable, position];
    }
  }
  return first;
}

const widths = new WeakMap();
function widest(data) {
  if (!widths.has(data)) widths.set(data, Math.min(data.tokens.length > 6 ? 11 : 18, Math.max(...data.shown.map((one) => one.length), ...data.tokens.map((one) => one.length))));
  return widths.get(data);
}

export function symbolsModel(data, at, weights = null) {
  const step = data.steps[at];
  const other = new Map();
  for (const [place, variable, position, text] of weights?.different ?? []) {
    if (place === step.place) other.set(`${variable} ${position}`, text);
  }
  return {
    rows: data.names.length,
    columns: data.tokens.length,
    widest: widest(data),
    named: Math.min(24, Math.max(...data.names.map((name) => name.length))),
    corner: "input",
    label: `Values, ${step.title}`,
    rowName: (row) => data.names[row],
    rowTitle: (row) => (row in data.heads ? `head: ${data.heads[row].text}` : data.names[row]),
    rowKind: (row) => (row === data.output ? "output" : row in data.heads ? "head" : ""),
    columnName: (column) => data.tokens[column],
    cell(row, column) {
      const code = codeOf(data, step.now, row, column);
      const differs = other.get(`${row} ${column}`);
      const kind = (data.values[code] === null ? "null " : "") + (data.values[code] !== null && changedAt(data, step, row, column) ? "changed " : "") + (differs === undefined ? "" : "differs");
      const text = differs ?? data.shown[code];
      return { text, kind, title: differs === undefined ? coded(data, code) || (text.length > 12 ? text : "") : `the symbols say ${data.shown[code]}` };
    },
  };
}

export function residualModel(found, data) {
  const most = Math.max(1e-9, ...found.rows.flat().map(Math.abs));
  return {
    rows: found.labels.length,
    columns: data.tokens.length,
    widest: 6,
    named: Math.min(28, Math.max(6, ...found.labels.map((one) => one.length))),
    corner: "dimension",
    label: "Residual stream, dimensions by positions",
    rowName: (row) => found.labels[row],
    rowTitle: (row) => `dimension ${found.codes[row]}`,
    columnName: (column) => data.tokens[column],
    cell(row, column) {
      const value = found.rows[column][row];
      return value === 0 ? { text: "" } : { text: number(value), title: `${value}`, back: tint(value / most, value < 0) };
    },
  };
}

export function attentionModel(found, data) {
  return {
    rows: data.tokens.length,
    columns: data.tokens.length,
    widest: Math.max(4, Math.min(10, Math.max(...data.tokens.map((one) => one.length)))),
    named: Math.min(18, 4 + Math.max(...data.tokens.map((one) => one.length))),
    corner: "query \\ key",
    label: "Attention, queries by keys",
    rowName: (row) => `${row} ${data.tokens[row]}`,
    columnName: (column) => data.tokens[column],
    cell(row, column) {
      const [one, other] = [found.symbols[row][column], found.weights[row][column]];
      const differs = Math.abs(one - other) > 1e-3;
      return { text: other ? number(other) : "", kind: differs ? "differs" : "", back: other ? tint(other) : "",
        title: other || differs ? `symbols ${number(one)}, weights ${number(other)}` : "" };
    },
  };
}
