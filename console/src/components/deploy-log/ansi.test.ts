import { expect, test } from 'vitest'
import { styledParts, withoutColours } from './ansi.ts'

const esc = '\u001b'

test('a line is split where its colour changes, and the colours become semantic colours of the console', () => {
  const line = `${esc}[96msrc/main.ts${esc}[0m:${esc}[1;31merror${esc}[22m TS1${esc}[39m.`
  expect(styledParts(line)).toEqual([
    { text: 'src/main.ts', className: 'text-accent' },
    { text: ':', className: '' },
    { text: 'error', className: 'font-semibold text-bad' },
    { text: ' TS1', className: 'text-bad' },
    { text: '.', className: '' },
  ])
  expect(withoutColours(line)).toBe('src/main.ts:error TS1.')
})

test('colours of larger palettes are ignored', () => {
  expect(styledParts(`${esc}[38;5;31ma${esc}[48;2;1;4;31mb${esc}[m`)).toEqual([
    { text: 'a', className: '' },
    { text: 'b', className: '' },
  ])
  expect(styledParts('plain')).toEqual([{ text: 'plain', className: '' }])
})
