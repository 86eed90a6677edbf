import type { RunOutcome, LastRun, Run } from '@shoal/runtime'
import { describe, expect, test } from 'vitest'
import { countRuns, type RunCounts } from './count-runs.ts'

const minuteMs = 60_000
/** Each run begins an hour after the previous one. */
const run = (ordinal: number, id = `run ${ordinal}`): Run => ({
  id,
  ordinal,
  startedAt: new Date(ordinal * 60 * minuteMs),
  node: null,
})
const endedRun = (ordinal: number, how: RunOutcome, more: Partial<LastRun> & { ranMs?: number } = {}): LastRun => {
  const { ranMs = 1000, ...rest } = more
  const base = run(ordinal, rest.id)
  const exitCode = { done: 0, error: 1, oom: 137, evicted: 143, stopped: 143 }[how]
  return { ...base, exitCode, how, endedAt: new Date(base.startedAt.getTime() + ranMs), oomKills: null, ...rest }
}

type Observed = { run?: Run; lastRun?: LastRun }

/** Returns the totals after these observations. */
const countAll = (observations: Observed[], before?: RunCounts): RunCounts => {
  let counts = before
  for (const { run = null, lastRun = null } of observations) counts = countRuns(counts, { run, lastRun })
  if (!counts) throw new Error('There was no observation')
  return counts
}

describe('runs are counted', () => {
  test.each<[what: string, observations: Observed[], expected: Partial<RunCounts>]>([
    ['a container that has not run', [{}], { restarts: 0, crashesInARow: 0, run: null, exitCode: null }],
    [
      'the first run, still running',
      [{}, { run: run(0) }, { run: run(0) }],
      { restarts: 0, crashesInARow: 0, run: 'run 0' },
    ],
    [
      'a crash counts at its end, a restart when the next run begins',
      [{ run: run(0) }, { lastRun: endedRun(0, 'error') }],
      { restarts: 0, crashesInARow: 1, exitCode: 1, runEnd: 'error' },
    ],
    [
      'the same crash, observed repeatedly',
      [
        { lastRun: endedRun(0, 'error') },
        { lastRun: endedRun(0, 'error') },
        { run: run(1), lastRun: endedRun(0, 'error') },
      ],
      { restarts: 1, crashesInARow: 1, exitCode: 1, run: 'run 1', runEnd: null },
    ],
    [
      'a run that begins and ends between two observations',
      [{ run: run(0) }, { run: run(2), lastRun: endedRun(1, 'error', { exitCode: 9 }) }],
      { restarts: 2, crashesInARow: 2, exitCode: 9 },
    ],
    [
      'five crashes while no worker runs',
      [{ run: run(0) }, { lastRun: endedRun(4, 'error') }],
      { restarts: 4, crashesInARow: 5, run: 'run 4' },
    ],
    [
      'five crashes before the first observation',
      [{ run: run(5), lastRun: endedRun(4, 'error') }],
      { restarts: 5, crashesInARow: 5 },
    ],
    ['a run whose end was not recorded', [{ run: run(0) }, { run: run(1) }], { restarts: 1, crashesInARow: 1 }],
    [
      'ten minutes of running between two crashes',
      [{ lastRun: endedRun(3, 'error') }, { lastRun: endedRun(4, 'error', { ranMs: 10 * minuteMs }) }],
      { restarts: 4, crashesInARow: 1 },
    ],
    [
      'slightly less than ten minutes of running between two crashes',
      [{ lastRun: endedRun(3, 'error') }, { lastRun: endedRun(4, 'error', { ranMs: 10 * minuteMs - 1 }) }],
      { restarts: 4, crashesInARow: 5 },
    ],
    [
      'an out-of-memory kill',
      [{ run: run(0) }, { lastRun: endedRun(0, 'oom') }, { run: run(1), lastRun: endedRun(0, 'oom') }],
      { restarts: 1, oomKills: 1, isOutOfMemory: true, exitCode: 137 },
    ],
    [
      'a run that outlived the kill of a child and crashed later',
      [{ lastRun: endedRun(0, 'error', { oomKills: 2 }) }],
      { oomKills: 2, isOutOfMemory: false, crashesInARow: 1 },
    ],
    [
      'a stop by the server is not a crash',
      [{ run: run(0) }, { run: run(1), lastRun: endedRun(0, 'stopped') }],
      { restarts: 0, crashesInARow: 0, exitCode: 143, run: 'run 1' },
    ],
    [
      'an eviction is not a crash',
      [{ run: run(0) }, { lastRun: endedRun(0, 'evicted') }, { run: run(1), lastRun: endedRun(0, 'evicted') }],
      { restarts: 0, crashesInARow: 0 },
    ],
    [
      'a stop in the middle of a crash loop does not end the loop',
      [{ lastRun: endedRun(1, 'error') }, { run: run(3), lastRun: endedRun(2, 'stopped') }],
      { restarts: 2, crashesInARow: 2 },
    ],
    [
      'a container that has finished',
      [{ lastRun: endedRun(0, 'done') }],
      { restarts: 0, crashesInARow: 0, exitCode: 0 },
    ],
    [
      'an end that first counted as finished and then as a crash',
      [{ lastRun: endedRun(0, 'done') }, { lastRun: endedRun(0, 'error', { exitCode: 0 }) }, { run: run(1) }],
      { restarts: 1, crashesInARow: 1, exitCode: 0 },
    ],
    [
      'a container whose ordinals start again: its record was lost, or its pod replaced',
      [
        { lastRun: endedRun(4, 'error') },
        { run: run(0, 'other') },
        { run: run(1, 'next'), lastRun: endedRun(0, 'error', { id: 'other' }) },
      ],
      { restarts: 5, crashesInARow: 6, run: 'next' },
    ],
  ])('%s', (_, observations, expected) => expect(countAll(observations)).toMatchObject(expected))

  test('counting continues from the totals of an earlier release: nothing is counted twice or lost', () => {
    const before = {
      ...countAll([{}]),
      restarts: 7,
      crashesInARow: 2,
      oomKills: 3,
      exitCode: 1,
      run: null,
      runOrdinal: null,
    }
    const adopted = countAll([{ run: run(7), lastRun: endedRun(6, 'error') }], before)
    expect(adopted).toMatchObject({ restarts: 7, crashesInARow: 2, oomKills: 3, exitCode: 1 })
    expect(countAll([{ run: run(8), lastRun: endedRun(7, 'oom') }], adopted)).toMatchObject({
      restarts: 8,
      crashesInARow: 3,
      oomKills: 4,
    })
  })

  test('totals never decrease, regardless of which runs are observed', () => {
    // A seeded generator, so that each execution of the test makes the same observations.
    let state = 20261122
    const random = (below: number) => (state = (state * 48_271) % 2_147_483_647) % below
    const outcomes: RunOutcome[] = ['done', 'error', 'oom', 'evicted', 'stopped']
    let counts: RunCounts | undefined
    let ordinal = 0
    for (let round = 0; round < 2000; round++) {
      ordinal += random(4)
      const outcomeAt = (at: number) => outcomes[(at * 7) % outcomes.length] ?? 'done'
      const isRunning = random(2) === 0
      const last = isRunning ? ordinal - 1 : ordinal
      const now = countRuns(counts, {
        run: isRunning ? run(ordinal) : null,
        lastRun: last < 0 ? null : endedRun(last, outcomeAt(last)),
      })
      if (!isRunning) ordinal++
      expect(now.restarts).toBeGreaterThanOrEqual(counts?.restarts ?? 0)
      expect(now.oomKills).toBeGreaterThanOrEqual(counts?.oomKills ?? 0)
      counts = now
    }
    expect(counts?.restarts).toBeLessThanOrEqual(ordinal)
  })
})
