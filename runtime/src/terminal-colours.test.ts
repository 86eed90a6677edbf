import { expect, test } from 'vitest'
import { keepColours } from './terminal-colours.ts'

const esc = '\u001b'

test('colours are kept and end with the line; other escape sequences are removed', () => {
  expect(keepColours(`${esc}[31mred${esc}[0m ${esc}[2Kcleared ${esc}]8;;http://a${esc}\\\\link`)).not.toContain(
    `${esc}[2K`,
  )
  expect(keepColours(`${esc}[31mred${esc}[0m ${esc}[2Jdone`)).toBe(`${esc}[31mred${esc}[0m done`)
  expect(keepColours(`${esc}[31mred`)).toBe(`${esc}[31mred${esc}[0m`)
  expect(keepColours('plain')).toBe('plain')
})
