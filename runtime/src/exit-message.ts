import { constants } from 'node:os'
import type { Restart } from './driver.ts'

export const IMAGE_MISSING_MESSAGE = 'Its image no longer exists: deploy the squid again'

/** Describes how a run ended, as a sentence for users; null after a success. `exitCode` null: the end was not observed. */
export function exitMessage(exitCode: number | null, outOfMemory: boolean): string | null {
  if (exitCode === 0) return null
  if (outOfMemory) return 'It used more memory than its profile allows and was stopped'
  if (exitCode === null) return 'It ended for an unknown reason'
  const signal = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128)?.[0]
  if (signal === 'SIGXFSZ')
    return 'It was ended (SIGXFSZ) because it wrote more to a file or to its log than the limit of its disk space'
  return signal ? `It was ended by ${signal}` : `It ended with exit code ${exitCode}`
}

/** Matches the errors of programs that had no space left for their files. Node has no name for EDQUOT, which is 122. */
export const OUT_OF_SPACE =
  /\b(ENOSPC|EDQUOT|EFBIG)\b|\berrno: -122\b|system error -122\b|No space left on device|Disk quota exceeded|File too large/

/** Describes the failure of a run that had no disk space left. `bytes`: the limit for the files of a program; 0: unlimited. */
export function outOfSpaceMessage(exitText: string, bytes: number): string {
  const limit = bytes === 0 ? '' : `: they may use ${Math.round(bytes / 1e6)} MB`
  return `${exitText} because there was no space left for its files${limit}`
}

/** Describes a run that exited with 0 although the program should keep running. */
export const UNEXPECTED_EXIT_MESSAGE = 'It ended with exit code 0'

/** True when a container whose program ended with this code is not restarted. */
export const isFinal = (restart: Restart | undefined, exitCode: number | null): boolean =>
  restart === 'never' || (restart === 'on-failure' && exitCode === 0)
