import { expect, test } from 'vitest'
import { PositionCounter, START, formatPosition, parsePosition, parseTimedLine } from './log-position.ts'

test('times of lines can be compared as text', () => {
  const times = ['05.1Z', '05.12Z', '05Z', '05.099999999Z'].map(
    (end) => parseTimedLine(`2026-01-01T00:00:${end} x`)?.time,
  )
  expect(times.toSorted((first = '', second = '') => (first < second ? -1 : 1))).toEqual([
    times[2],
    times[3],
    times[0],
    times[1],
  ])
  expect(parseTimedLine('2026-01-01T02:00:00.5+02:00 a b ')).toEqual({
    time: '2026-01-01T00:00:00.500000000Z',
    text: 'a b ',
  })
  expect(parseTimedLine('2026-01-01T00:00:00Z ')?.text).toBe('')
  expect(parseTimedLine('unable to retrieve container logs')).toBeNull()
})

test('a reader continues after the lines that it has read, even if they have the same time as the next ones', () => {
  const lines = ['1', '2', '2', '2', '3'].map((second, index) => ({ time: `00:0${second}`, text: String(index) }))
  const counter = new PositionCounter(START)
  const positions = lines.map((line) => counter.push(line))
  for (const [index, position] of positions.entries()) {
    const next = new PositionCounter(parsePosition(formatPosition(position ?? START)))
    const rest = lines.filter((line) => next.push(line) !== null).map(({ text }) => Number(text))
    expect(rest).toEqual([0, 1, 2, 3, 4].slice(index + 1))
  }
})

test('an invalid position is the start of the log', () => {
  for (const text of [undefined, '', 'x', '1 2', 'a b c']) expect(parsePosition(text)).toEqual(START)
})
