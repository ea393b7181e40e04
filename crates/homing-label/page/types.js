// What the server sends, for the check of types. The page does not load this file.

/**
 * @typedef {{target: number, id: string, share: number}} TargetShare
 * @typedef {{label: string, share: number}} Suggestion
 * @typedef {{id: string, row: number, text?: string, image?: string}} Example
 * @typedef {Example & {rank: number, information: number, why: {sentence: string, removes?: number, serves: TargetShare[], nearest: TargetShare[]}, suggestion?: Suggestion}} Item
 * @typedef {Example & {answers: [string, string][], suggestion: Suggestion | null}} Known
 * @typedef {{items: Item[], provisional: boolean, version: number, failure: string | null}} Next
 * @typedef {{seq: number, repeated: boolean, next: Next}} Saved
 * @typedef {{name: string, count: number}} ClassCount
 * @typedef {{id: string, text?: string, image?: string}} Target
 * @typedef {Example & {seq: number, count: number, answer: string, label?: string, annotator: string, at: number}} HistoryEntry
 * @typedef {{id: string, row: number, answers: [string, string][]}} Dispute
 * @typedef {{row: number, share: number}} NamedRow
 * @typedef {{start: number, now: number, irreducible: number | null, served_by: NamedRow[]}} TargetProgress
 * @typedef {{advice: string, sentence: string, next_gain: number | null, next_ten: number | null, removed: number | null}} StopSignal
 * @typedef {{observations: number, targets: TargetProgress[], variance_left: number | null, irreducible: number | null, stop: StopSignal}} Progress
 * @typedef {{labels: number, accuracy: number}} CurvePoint
 * @typedef {{labelled: number, excluded: number, unsure: number, skipped: number, disputed: number}} Counts
 * @typedef {{
 *   version: number, run: string, pool: string, rows: number, kind: string, columns: string[], classes: ClassCount[], counts: Counts,
 *   information: number, targets: Target[], progress: Progress, accuracy: CurvePoint[], history: HistoryEntry[], disputes: Dispute[],
 *   annotators: string[], can_undo: boolean, can_redo: boolean, failure?: string
 * }} State
 */

export {};
