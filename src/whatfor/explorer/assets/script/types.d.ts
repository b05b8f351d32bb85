// The JSON of the explorer, for the type checker; docs/explorer.md describes it. Not part of the page.

export interface Series {
  name: string;
  numbers: number[];
  low?: number[] | null;
  high?: number[] | null;
}
/** Letter, row, column, and what it stands for. */
export type Mark = [string, number, number, string];

interface Titled {
  title: string;
  caption: string;
}
export interface Board extends Titled {
  layout: "board";
  rows: number;
  columns: number;
  walls: [number, number][];
  marks: Mark[];
  piece: string;
  at: [number, number] | null;
  layers: { name: string; colour: ScaleName; cells: number[][] }[];
  roles: string[];
  quantity: string;
  diverging: boolean;
  unknown: boolean[][] | null;
}
export interface Grid extends Titled {
  layout: "grid";
  rows: string[];
  columns: string[];
  row_axis: string;
  column_axis: string;
  numbers: number[][];
  quantity: string;
  diverging: boolean;
  unknown: boolean[][] | null;
  marked: [number, number] | null;
  marks: Mark[];
  walls: number[][];
  beside: Series | null;
}
export interface Bars extends Titled {
  layout: "bars";
  names: string[];
  series: Series[];
  axis: string;
  unknown: boolean[] | null;
}
export interface Lines extends Titled {
  layout: "lines";
  x: number[];
  series: Series[];
  x_axis: string;
  y_axis: string;
  /** Whether the series are intervals around one line. */
  nested: boolean;
}
export interface Contours {
  x: number[];
  y: number[];
  cells: number[][];
  levels: number[];
  shares: number[];
}
export interface Cloud extends Titled {
  layout: "cloud";
  x: number[];
  y: number[];
  x_axis: string;
  y_axis: string;
  numbers: number[];
  full: number;
  quantity: string;
  diverging: boolean;
  marked: number | null;
  contours: Contours | null;
}
export interface Panels extends Titled {
  layout: "panels";
  panels: Layout[];
  columns: number;
  shared: boolean;
  column_heads: string[];
  row_heads: string[];
}
export type Leaf = Board | Grid | Bars | Lines | Cloud;
export type Layout = Leaf | Panels;

/** Which state each cell of a picture stands for: rows of indices, below 0 for none; nested for boards of two halves and for panels. */
export type Places = number[][] | number[][][];

export type ScaleName = "yellow" | "green" | "blue";
export interface Palette extends Record<ScaleName | "signed" | "series", string[]> {
  line: string;
  wall: string;
}
export interface Scale {
  low: number;
  high: number;
  size: number;
  diverging: boolean;
}
export type Select = (state: number) => void;
export interface DrawOptions {
  scale: Scale;
  places?: Places | null;
  select?: Select | null;
  small?: boolean;
  maxWidth: number;
}
/** A drawn layout: its group, its size, and what its colours mean. */
export interface Drawing {
  group: SVGElement;
  width: number;
  height: number;
  legend: [string, ScaleName][];
}

export interface Parameter {
  name: string;
  help: string;
  kind: "number" | "words" | "action";
  required: boolean;
  suggestions: string[];
}
export interface Question {
  title: string;
  help: string;
  parameters: Parameter[];
  /** For each picture, whether its cells lead to other states. */
  clickable: boolean[];
  first: boolean;
}
export interface About {
  name: string;
  learner: string;
  premise: string | null;
  episodes: number;
  updates: number;
  states: number;
  actions: string[];
  questions: Record<string, Question>;
  unavailable: Record<string, string>;
  trust: { sentences: string[] } | null;
  checkpoints: number[];
  curve: { episodes: number[]; returns: number[] } | null;
  example: string;
}
/** Where to look: each with the link to its state. */
export interface FindingsAnswer {
  findings: { sentence: string; state: string; action: number | null; instead: number | null }[];
  nothing: string;
  notes: string[];
  left_out: number;
}
export interface StateAnswer {
  state: number;
  key: string;
  words: string;
  observation: string | null;
  values: (number | null)[];
  best: number;
  tries: number[] | null;
  picture: Layout | null;
  places: Places | null;
  map: Places | null;
  /** Of the parameters of questions, by "question.parameter", at the time that was asked for. */
  suggestions: Record<string, string[]>;
}
export interface StripEpisode {
  episode: number;
  weight: number;
  account: number;
  deletion: number;
  exact: boolean;
}
export interface Answer {
  answer: { sentences: string[] };
  pictures: Layout[];
  badge: { kind: string; words: string; about: string } | null;
  strip?: StripEpisode[];
  left_out?: number;
}
export interface Step {
  state: string;
  action: number;
  reward: number;
}
export interface Episode {
  key: string;
  title: string;
  steps: Step[];
  length: number;
  ending: string | null;
}
export interface Choices {
  episodes: { key: string; title: string }[];
}
/** What each request is answered with. */
export interface Answers {
  run: About;
  findings: FindingsAnswer;
  state: StateAnswer;
  answer: Answer;
  episodes: Choices;
  episode: Episode;
}

/** What is asked now; parameters of questions are under "question.parameter". */
export interface Current {
  state: string;
  action: number | null;
  instead: number | null;
  as_of: number | null;
  episode: string | null;
  step: number;
  [parameter: string]: string | number | null;
}
export type Change = Partial<Current>;
export type Link = Partial<Record<string, string>>;
