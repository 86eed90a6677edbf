import { hours, minutes } from '../../../clock.ts'
import { crashReason } from '../progress/processor-status.ts'
import type { RuleOf } from './rule.ts'

/** Long enough that two rounds, 15 seconds apart, must find the problem, because containers that start or stop are briefly in other states. */
const holdTwoRoundsMs = 10_000
const outOfMemoryShownMs = hours(24)

const crashLoop: RuleOf<'program'> = {
  appliesTo: 'program',
  holdMs: holdTwoRoundsMs,
  // The time a run must last to count as stable.
  clearMs: minutes(10),
  isWarning: true,
  find: ({ container: row, isCrashLooping }) =>
    isCrashLooping
      ? [
          {
            severity: 'CRITICAL',
            container: row.container,
            label: `${row.container} keeps crashing`,
            reason: crashReason(row),
            sinceMs: row.sinceMs,
          },
        ]
      : [],
}

const outOfMemory: RuleOf<'program'> = {
  appliesTo: 'program',
  holdMs: 0,
  clearMs: minutes(1),
  isWarning: true,
  find: ({ container: { container, state, sinceMs, isOutOfMemory } }, _, nowMs) =>
    isOutOfMemory && nowMs - sinceMs < outOfMemoryShownMs
      ? [
          {
            severity: state === 'running' ? 'WARNING' : 'CRITICAL',
            container,
            label: `${container} ran out of memory`,
            reason:
              'It used more memory than its profile allows. Choose a larger profile under scale in the manifest and deploy again.',
            sinceMs,
          },
        ]
      : [],
}

const diskFull: RuleOf<'program'> = {
  appliesTo: 'program',
  holdMs: 0,
  clearMs: minutes(1),
  isWarning: true,
  find: ({ container: { container, state, diskFullSinceMs } }) =>
    diskFullSinceMs === null
      ? []
      : [
          {
            severity: state === 'running' ? 'WARNING' : 'CRITICAL',
            container,
            label: `${container} has no disk space left`,
            reason:
              'It cannot write more files. Let it delete files that it no longer needs, or deploy again: each deployment starts without the files that programs wrote.',
            sinceMs: diskFullSinceMs,
          },
        ],
}

export const programRules = { CRASH_LOOP: crashLoop, OUT_OF_MEMORY: outOfMemory, DISK_FULL: diskFull }
