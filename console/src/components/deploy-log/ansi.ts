/** A part of a line that has one style, as CSS classes. */
export type StyledText = { text: string; className: string }

/** The classes of the console's semantic colours for the ANSI colours 30–37 and 90–97. Black and white become the colour of the text. */
const colourClasses = ['', 'text-bad', 'text-good', 'text-warn', 'text-info', 'text-accent', 'text-accent', '']

type Style = { colour: string; isBold: boolean; isDim: boolean; isUnderlined: boolean }
const plain: Style = { colour: '', isBold: false, isDim: false, isUnderlined: false }

// oxlint-disable-next-line no-control-regex -- ANSI escape sequences start with a control character
const styleSequence = /\u001b\[([0-9;]*)m/g

/** Splits a line of a program's output at its ANSI escape sequences for colours and styles. Colours of extended palettes are ignored. */
export function styledParts(line: string): StyledText[] {
  if (!line.includes('\u001b')) return [{ text: line, className: '' }]
  const parts: StyledText[] = []
  let style = plain
  let start = 0
  const add = (text: string) => {
    if (text !== '') parts.push({ text, className: classOf(style) })
  }
  for (const match of line.matchAll(styleSequence)) {
    add(line.slice(start, match.index))
    start = match.index + match[0].length
    style = withCodes(style, (match[1] ?? '').split(';').map(Number))
  }
  add(line.slice(start))
  return parts
}

/** Removes the ANSI escape sequences for colours and styles. */
export const withoutColours = (line: string): string => line.replaceAll(styleSequence, '')

function withCodes(style: Style, codes: number[]): Style {
  let next = style
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] ?? 0
    // `38;5;N` and `38;2;R;G;B` select a colour of a larger palette, of the text or of its background.
    if (code === 38 || code === 48) index += codes[index + 1] === 2 ? 4 : 2
    else next = withCode(next, code)
  }
  return next
}

function withCode(style: Style, code: number): Style {
  if (code === 0) return plain
  if (code === 1) return { ...style, isBold: true }
  if (code === 2) return { ...style, isDim: true }
  if (code === 4) return { ...style, isUnderlined: true }
  if (code === 22) return { ...style, isBold: false, isDim: false }
  if (code === 24) return { ...style, isUnderlined: false }
  if (code === 39) return { ...style, colour: '' }
  const isColour = (code >= 30 && code <= 37) || (code >= 90 && code <= 97)
  return isColour ? { ...style, colour: code === 90 ? 'text-ink-3' : (colourClasses[code % 10] ?? '') } : style
}

function classOf({ colour, isBold, isDim, isUnderlined }: Style): string {
  const classes = [isBold && 'font-semibold', isUnderlined && 'underline', colour || (isDim && 'text-ink-2')]
  return classes.filter(Boolean).join(' ')
}
