import { hours, minutes } from '../../../clock.ts'
import { crashReason } from '../progress/processor-status.ts'
import type { RuleOf } from './rule.ts'

/** Long enough that two rounds, 15 seconds apart, must find the problem, because containers that start or stop are briefly in other states. */
const holdTwoRoundsMs = 10_000
const outOfMemoryShownMs = hours(24)

const crashLoop: RuleOf<'program'> = {
  title: 'Crash loop',
  explanation: 'A program repeatedly ends with an error.',
  threshold: null,
  opensWhen:
    'A program has crashed three times in a row, or cannot be started at all. A crash after a run of ten minutes or more counts as the first in a row. A processor that exits with 0 although its chain continues counts as crashed.',
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
  title: 'Out of memory',
  explanation: 'A program used more memory than its profile allows and was stopped.',
  threshold: null,
  opensWhen:
    'A program last ended because it ran out of memory. The alert stays open for 24 hours, so repeated kills open only one alert.',
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
  title: 'Out of disk space',
  explanation: 'A program has used all of the disk space it may use for files.',
  threshold: null,
  opensWhen:
    'Less than 2 % of the disk space of a program, or less than 2 MiB, is free, or the program ended because it could not write a file ([security.md](security.md)).',
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
