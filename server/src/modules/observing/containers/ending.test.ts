import { describe, expect, test } from 'vitest'
import { endingOf, hasFinished } from './ending.ts'

const sdk = (msg: string) => JSON.stringify({ level: 2, ns: 'sqd:processor', msg })
const from = sdk('processing blocks from 0')
const fromTo = sdk('processing blocks from 0 to 500')
const progress = (block: number) =>
  sdk(`${block} / 900, rate: 12 blocks/sec, mapping: 12 blocks/sec, 9 items/sec, eta: 0s`)
const nothing = sdk('nothing to do')

describe('the ending in the log of a processor', () => {
  test.each([
    ['done', [sdk('last processed final block was 500'), sdk('processing range is [0, 500]'), nothing]],
    ['done', [fromTo, progress(200), progress(500)]],
    ['done', ['18:02:11 INFO  sqd:processor nothing to do']],
    ['unknown', [fromTo, progress(499)]],
    ['unknown', [fromTo]],
    ['unknown', [progress(900), 'bye']],
    ['unknown', []],
    ['stopped', [from, progress(900)]],
    // Each start counts from the beginning.
    ['stopped', [nothing, from]],
    ['unknown', [nothing, fromTo]],
    ['unknown', [fromTo, progress(500), fromTo]],
    ['stopped', [fromTo, progress(500), from, progress(600)]],
  ])('%s: %j', (ending, lines) => expect(endingOf(lines)).toBe(ending))
})

describe('whether a processor has finished', () => {
  const decide = async (lines: string[], crashesInARow: number, movesOn: boolean) => {
    const retried: string[] = []
    const runtime = {
      tail: async () => lines,
      retry: async (_: string, __: string, reason: string) => void retried.push(reason),
    }
    const isDone = await hasFinished(runtime, { workload: '1.1', container: 'eth', crashesInARow }, () => movesOn)
    return isDone ? 'finished' : retried[0]
  }

  test.each([
    [[nothing], 0, true, 'finished'],
    [[nothing], 4, true, 'finished'],
    [[from], 0, false, 'It ended although its chain goes on'],
    [[], 0, false, expect.stringContaining('to see whether')],
    [[], 0, true, expect.stringContaining('to see whether')],
    [[], 1, false, 'finished'],
    [[], 1, true, 'It ended although its chain goes on'],
  ])('%j after %i ends in a row, with new blocks on its chain: %s', async (lines, ends, movesOn, answer) => {
    expect(await decide(lines, ends, movesOn)).toEqual(answer)
  })
})
