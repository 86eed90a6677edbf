import { expect, test } from 'vitest'
import { FilePosition } from './file-position.ts'
import { LogGaps } from './log-gaps.ts'

const bytes = 100
const timeOf = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))

/** Adds one line a second. `fromLine`: the number of the first one in its file. `lateMs`: the time from writing to reading each line. */
function push(position: FilePosition, fromSecond: number, count: number, fromLine = 0, lateMs = 100): void {
  for (let i = 0; i < count; i++) {
    const time = timeOf(fromSecond + i)
    const line = { time: time.toISOString(), stream: 'stdout' as const, isPartial: false, text: 'x' }
    position.push(line, (fromLine + i) * bytes, bytes, time.getTime() + lateMs)
  }
}

/** The gaps of a log, each `[from, to, isCertain]`, after no line has arrived for two minutes. */
function gapsOf(position: FilePosition): unknown[] {
  const gaps = new LogGaps()
  expect(gaps.takeSettled(position, 0)).toEqual([])
  return gaps.takeSettled(position, 120_000).map(({ from, to, isCertain }) => [from, to, isCertain])
}

test('a completely read log has no gaps, even with rotations, late lines, lines out of order and lines sent again', () => {
  const position = new FilePosition(undefined)
  push(position, 0, 20)
  push(position, 20, 20)
  push(position, 60, 10, 0, 40_000)
  push(position, 50, 10, 10, 40_000)
  push(position, 40, 10, 0, 40_000)
  push(position, 30, 10, 10)
  expect(gapsOf(position)).toEqual([])
  expect(gapsOf(new FilePosition(position.format()))).toEqual([])
})

test('lines that are missing within a file are lost, and reported once', () => {
  const position = new FilePosition(undefined)
  push(position, 0, 10)
  push(position, 15, 10, 2000)
  const gaps = new LogGaps()
  expect(gaps.takeSettled(position, 0)).toEqual([])
  expect(gaps.takeSettled(position, 50_000)).toEqual([])
  // Lines still arrive.
  push(position, 10, 1, 10)
  expect(gaps.takeSettled(position, 70_000)).toEqual([])
  expect(gaps.takeSettled(position, 150_000)).toEqual([{ from: timeOf(10), to: timeOf(15), isCertain: true }])
  expect(gaps.takeSettled(position, 300_000)).toEqual([])
  expect(gapsOf(new FilePosition(position.format()))).toEqual([])
})

test('lines before the first one that arrived are lost', () => {
  const position = new FilePosition(undefined)
  push(position, 15, 10, 2000)
  expect(gapsOf(position)).toEqual([[null, timeOf(15), true]])
})

test('when the collector could not read for a time and continues with another file, lines may be missing', () => {
  const position = new FilePosition(undefined)
  push(position, 0, 10)
  push(position, 40, 10, 0, 30_000)
  push(position, 50, 10)
  expect(gapsOf(position)).toEqual([[timeOf(9), timeOf(40), false]])
})

test('a program that wrote nothing for a time, or whose lines were read late, has lost no lines', () => {
  const silent = new FilePosition(undefined)
  push(silent, 0, 10)
  push(silent, 40, 10)
  expect(gapsOf(silent)).toEqual([])
  const slow = new FilePosition(undefined)
  push(slow, 0, 10, 0, 30_000)
  push(slow, 10, 10, 0, 30_000)
  expect(gapsOf(slow)).toEqual([])
})

test('lines whose length differs from that in the file are not missing', () => {
  const position = new FilePosition(undefined)
  const at = (second: number, offset: number, length: number) => {
    const line = { time: timeOf(second).toISOString(), stream: 'stdout' as const, isPartial: false, text: 'x' }
    position.push(line, offset, length, timeOf(second).getTime())
  }
  // Invalid UTF-8, a carriage return, and text that is not a line.
  at(0, 0, 120)
  at(1, 100, 99)
  at(2, 200, 100)
  position.skip(300, 5000)
  at(3, 5300, 100)
  expect(gapsOf(position)).toEqual([])
})

test('lines that were read through the API server before are not missing', () => {
  const position = FilePosition.afterFollowing(`0 ${timeOf(9).toISOString()} 1`, 0)
  push(position, 0, 20)
  expect(gapsOf(position)).toEqual([])
  const next = FilePosition.afterFollowing(`0 ${timeOf(9).toISOString()} 1`, 0)
  push(next, 0, 10)
  const continued = new FilePosition(next.format())
  push(continued, 10, 10, 10)
  expect(gapsOf(continued)).toEqual([])
})

test('a position of an earlier release has no gaps', () => {
  const times = (from: number, to: number) => [timeOf(from).toISOString(), timeOf(to).toISOString()]
  const parts = [
    { end: 1000, stdout: times(0, 9) },
    { end: 900_000, stdout: times(40, 49) },
  ]
  expect(gapsOf(new FilePosition(JSON.stringify({ parts, partial: {} })))).toEqual([])
})
