import { expect, test } from 'vitest'
import { FilePosition } from './file-position.ts'
import { type FileLine, parseFileLine, parseLogPath, workloadOfPod } from './log-file.ts'

type Sent = { line: FileLine; offset: number; bytes: number }

/** Returns the parsed lines of each log file of a run, with their offsets. `perFile`: the number of lines of each file. */
function linesOfFiles(perFile: number[]): Sent[][] {
  let number = 0
  return perFile.map((count) => {
    let offset = 0
    return Array.from({ length: count }, () => {
      number++
      const raw = `2026-01-01T00:00:00.${String(number).padStart(9, '0')}Z ${number % 3 ? 'stdout' : 'stderr'} F ${number}`
      const line = parseFileLine(raw)
      if (!line) throw new Error('unreachable')
      const sent = { line, offset, bytes: raw.length + 1 }
      offset += sent.bytes
      return sent
    })
  })
}

/** Reads each batch with the position that was stored after the previous batch. */
function readAll(batches: Sent[][]): string[] {
  let stored: string | undefined
  return batches.flatMap((batch) => {
    const position = new FilePosition(stored)
    const texts = batch.flatMap(({ line, offset, bytes }) => position.push(line, offset, bytes) ?? [])
    stored = position.format()
    return texts
  })
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => String(i + 1))
const sorted = (texts: string[]) => texts.toSorted((first, second) => Number(first) - Number(second))

test('each line is read once, across rotations, even if some lines are sent again', () => {
  const files = linesOfFiles([20, 20, 5, 30])
  const [first = [], second = [], third = [], fourth = []] = files
  expect(readAll(files)).toEqual(numbers(75))
  expect(readAll([...files, ...files])).toEqual(numbers(75))
  // Offsets of lines of equal length are the same in all files.
  for (const from of [0, 1, 7, 19])
    expect(readAll([first, second.slice(0, 10), first.slice(from), second.slice(5), third, second, fourth])).toEqual(
      numbers(75),
    )
})

test('batches may arrive out of order', () => {
  const [first = [], second = []] = linesOfFiles([30, 30])
  const batches = [first.slice(0, 10), first.slice(20), second.slice(0, 10), first.slice(10, 20), second.slice(10)]
  expect(sorted(readAll([...batches, ...batches.toReversed()]))).toEqual(numbers(60))
})

test('the position stays short after many rotations', () => {
  const files = linesOfFiles(Array.from({ length: 200 }, () => 3))
  expect(readAll(files.flatMap((file, index) => [file, files[index - 1] ?? []]))).toEqual(numbers(600))
})

test('lines with the same time, and lines written after the clock was set back, are read', () => {
  const at = (second: number, offset: number): Sent => ({
    line: { time: `2026-01-01T00:00:0${second}Z`, stream: 'stdout', isPartial: false, text: String(offset) },
    offset,
    bytes: 10,
  })
  const batches = [[at(5, 0), at(5, 10)], [at(5, 20)], [at(3, 30), at(4, 40)], [at(6, 50)]]
  expect(readAll(batches)).toEqual(['0', '10', '20', '30', '40', '50'])
  expect(readAll([...batches, ...batches])).toHaveLength(6)
})

test('the parts of a line are joined within their stream, even across restarts', () => {
  const raw = ['1Z stdout P one ', '2Z stderr F other', '3Z stdout P two ', '4Z stdout F three']
  let offset = 0
  const batches = raw.map((text): Sent[] => {
    const full = `2026-01-01T00:00:0${text}`
    const line = parseFileLine(full)
    offset += full.length + 1
    return line ? [{ line, offset: offset - full.length - 1, bytes: full.length + 1 }] : []
  })
  expect(readAll([...batches, ...batches])).toEqual(['other', 'one two three'])
})

test('a position continues after the lines that were read through the API server', () => {
  const [file = []] = linesOfFiles([10])
  const read = (position: FilePosition) =>
    file.flatMap(({ line, offset, bytes }) => position.push(line, offset, bytes) ?? [])
  const text = `1 ${file[3]?.line.time} 1`
  expect(read(FilePosition.afterFollowing(text, 0))).toEqual([])
  expect(read(FilePosition.afterFollowing(text, 1))).toEqual(numbers(10).slice(4))
  expect(read(FilePosition.afterFollowing(text, 2))).toEqual(numbers(10))
})

test.each(['', '{', '{"parts":[{"end":', '{"partial":{}}', '{"parts":1}', 'null', '1', '0 2026-01-01T00:00:00Z 1'])(
  'a stored position that is not one of a file is the start of the log: %j',
  (text) => {
    const [file = []] = linesOfFiles([3])
    const position = new FilePosition(text)
    expect(position.lastTime).toBe('')
    expect(file.map(({ line, offset, bytes }) => position.push(line, offset, bytes))).toEqual(numbers(3))
    expect(new FilePosition(position.format()).lastTime).toBe(file[2]?.line.time)
  },
)

test('log paths, log lines and pod names are parsed', () => {
  const path =
    '/var/log/pods/shoal-a-o7_w12-3-0123abcd-0123456789-x7k2p_f7d97e34-f935-463b-a1a5-1bc8d6e752b6/api-2/4.log'
  const file = parseLogPath(path)
  expect(file).toMatchObject({ namespace: 'shoal-a-o7', container: 'api-2', restarts: 4 })
  expect(parseLogPath(`${path}.20261123-150405`)).toEqual(file)
  expect(workloadOfPod(file?.pod ?? '')).toBe('12.3')
  for (const other of ['/var/log/pods/x.log', '/var/log/syslog', '']) expect(parseLogPath(other)).toBeNull()
  expect(workloadOfPod('other-12-3')).toBeNull()
  expect(parseFileLine('2026-01-01T00:00:00.5Z stderr F ')).toMatchObject({ stream: 'stderr', text: '' })
  for (const other of ['', 'text', '2026-01-01T00:00:00Z other F x']) expect(parseFileLine(other)).toBeNull()
})
