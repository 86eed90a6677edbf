/** Returns the text with every secret value replaced by `***`. */
export type Redactor = (text: string) => string

/** The minimum length of redacted values, in characters. Shorter values occur in ordinary text and are easily guessed. */
export const minRedactedLength = 6

const mask = '***'
const noRedaction: Redactor = (text) => text

/**
 * Creates a redactor that replaces the values anywhere in text, even in JSON and URL encoding. Each line of a multi-line value is
 * redacted as well, because logs are split into lines.
 */
export function createRedactor(values: Iterable<string>): Redactor {
  const forms = new Set([...values].flatMap(linesOf).flatMap(formsOf))
  if (forms.size === 0) return noRedaction
  // Longest first: if one value is a prefix of another, the remainder of the longer one must not stay visible.
  const byLengthDescending = [...forms].sort((a, b) => b.length - a.length)
  const redactors = [
    ...byLengthDescending.filter(isLong).map(createReplacer),
    ...groupInPatterns(byLengthDescending.filter((form) => !isLong(form))),
  ]
  return (text) => redactors.reduce((redacted, redact) => redact(redacted), text)
}

/** Longer forms are replaced one by one instead of by a regular expression, because V8 rejects very long expressions. */
const maxFormLength = 1_000
/** The maximum length of one regular expression, in characters of its forms; well below the limit of V8. */
const maxPatternLength = 10_000
const isLong = (form: string): boolean => form.length > maxFormLength

const createReplacer =
  (form: string): Redactor =>
  (text) =>
    text.replaceAll(form, mask)

/** Combines the forms, in their order, into as few patterns as possible. */
function groupInPatterns(forms: string[]): Redactor[] {
  const groups: string[][] = []
  let length = Infinity
  for (const form of forms) {
    if (length + form.length > maxPatternLength) {
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

/** Returns the JSON text with every secret value redacted. The result is valid JSON even if a number or a key is redacted. */
export function redactJson(redact: Redactor, json: string): string {
  return redact(json) === json ? json : JSON.stringify(redactValue(redact, JSON.parse(json)))
}

function redactValue(redact: Redactor, value: unknown): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value === 'number') return redact(String(value)) === String(value) ? value : mask
  if (Array.isArray(value)) return value.map((item) => redactValue(redact, item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [redact(key), redactValue(redact, item)]))
}

const linesOf = (value: string): string[] =>
  value.includes('\n') ? [value, ...value.split('\n').map((line) => line.trim())] : [value]

/** Returns the forms in which a value may occur: raw, in JSON, in JSON within JSON, and URL-encoded. */
function formsOf(value: string): string[] {
  if (value.length < minRedactedLength) return []
  const inJson = JSON.stringify(value).slice(1, -1)
  const inJsonTwice = JSON.stringify(inJson).slice(1, -1)
  return [value, inJson, inJsonTwice, encodeURIComponent(value.toWellFormed())]
}
