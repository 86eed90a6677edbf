import { describe, expect, test } from 'vitest'
import { endingOf, restartUnlessFinished } from './ending.ts'

const sdk = (msg: string) => JSON.stringify({ level: 2, ns: 'sqd:processor', msg })
const openRange = sdk('processing blocks from 0')
const boundedRange = sdk('processing blocks from 0 to 500')
const progress = (block: number) =>
  sdk(`${block} / 900, rate: 12 blocks/sec, mapping: 12 blocks/sec, 9 items/sec, eta: 0s`)
const nothingToDo = sdk('nothing to do')

describe('the way in which a processor ended, according to its log', () => {
  test.each([
    ['done', [sdk('last processed final block was 500'), sdk('processing range is [0, 500]'), nothingToDo]],
    ['done', [boundedRange, progress(200), progress(500)]],
    ['done', ['18:02:11 INFO  sqd:processor nothing to do']],
    ['unknown', [boundedRange, progress(499)]],
    ['unknown', [boundedRange]],
    ['unknown', [progress(900), 'bye']],
    ['unknown', []],
    ['stopped', [openRange, progress(900)]],
    // Only the lines after the last start count.
    ['stopped', [nothingToDo, openRange]],
    ['unknown', [nothingToDo, boundedRange]],
    ['unknown', [boundedRange, progress(500), boundedRange]],
    ['stopped', [boundedRange, progress(500), openRange, progress(600)]],
  ])('%s: %j', (ending, lines) => expect(endingOf(lines)).toBe(ending))
})

describe('a processor that ended with exit code 0 is restarted unless it has finished', () => {
  const decide = async (lines: string[], crashesInARow: number, hasNewBlocks: boolean) => {
    const retryReasons: string[] = []
    const runtime = {
      tail: async () => lines,
      retry: async (_: string, __: string, reason: string) => void retryReasons.push(reason),
    }
    const isDone = await restartUnlessFinished(
      runtime,
      { workload: '1.1', container: 'eth', crashesInARow },
      () => hasNewBlocks,
    )
    return isDone ? 'finished' : retryReasons[0]
  }

  test.each([
    [[nothingToDo], 0, true, 'finished'],
    [[nothingToDo], 4, true, 'finished'],
    [[openRange], 0, false, 'It ended although its chain continues to grow'],
    [[], 0, false, expect.stringContaining('to see whether')],
    [[], 0, true, expect.stringContaining('to see whether')],
    [[], 1, false, 'finished'],
    [[], 1, true, 'It ended although its chain continues to grow'],
  ])('%j after %i ends in a row, with new blocks on its chain: %s', async (lines, ends, hasNewBlocks, expected) => {
    expect(await decide(lines, ends, hasNewBlocks)).toEqual(expected)
  })
})
