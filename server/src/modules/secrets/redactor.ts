/** Answers the text with `***` in place of every hidden value. */
export type Redactor = (text: string) => string

/** Shorter values stand in ordinary text by chance, and are too easily guessed to be worth hiding. */
export const minHidden = 6

const mask = '***'
const nothingToHide: Redactor = (text) => text

/**
 * Hides the values, wherever they stand and also as JSON or an address writes them. Of a value of several lines each line
 * is hidden, since a log holds them apart.
 */
export function createRedactor(values: Iterable<string>): Redactor {
  const forms = new Set([...values].flatMap(linesOf).flatMap(formsOf))
  if (forms.size === 0) return nothingToHide
  // The longest first: of two values of which one begins with the other, no end is left standing.
  const byLengthDescending = [...forms].sort((a, b) => b.length - a.length)
  const steps = [
    ...byLengthDescending.filter(isLong).map(wholly),
    ...inPatterns(byLengthDescending.filter((form) => !isLong(form))),
  ]
  return (text) => steps.reduce((clean, step) => step(clean), text)
}

/** V8 refuses patterns of some ten thousand characters, and a value may have more. */
const maxForm = 1_000
const maxPattern = 10_000
const isLong = (form: string): boolean => form.length > maxForm

const wholly =
  (form: string): Redactor =>
  (text) =>
    text.replaceAll(form, mask)

/** As few patterns as can be, in the order of the forms. */
function inPatterns(forms: string[]): Redactor[] {
  const groups: string[][] = []
  let length = Infinity
  for (const form of forms) {
    if (length + form.length > maxPattern) {
      groups.push([])
      length = 0
    }
    groups.at(-1)?.push(form)
    length += form.length
  }
  return groups.map((group) => {
    const pattern = new RegExp(group.map((form) => RegExp.escape(form)).join('|'), 'g')
    return (text) => text.replace(pattern, mask)
  })
}

/** The same for JSON, in which even what hides a number or a key leaves JSON. */
export function redactJson(redact: Redactor, json: string): string {
  return redact(json) === json ? json : JSON.stringify(redacted(redact, JSON.parse(json)))
}

function redacted(redact: Redactor, value: unknown): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value === 'number') return redact(String(value)) === String(value) ? value : mask
  if (Array.isArray(value)) return value.map((item) => redacted(redact, item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [redact(key), redacted(redact, item)]))
}

const linesOf = (value: string): string[] =>
  value.includes('\n') ? [value, ...value.split('\n').map((line) => line.trim())] : [value]

/** As it is, in JSON, in JSON within JSON, and in an address. */
function formsOf(value: string): string[] {
  if (value.length < minHidden) return []
  const inJson = JSON.stringify(value).slice(1, -1)
  const inJsonTwice = JSON.stringify(inJson).slice(1, -1)
  return [value, inJson, inJsonTwice, encodeURIComponent(value.toWellFormed())]
}
