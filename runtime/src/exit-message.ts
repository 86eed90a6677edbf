import { constants } from 'node:os'
import type { Restart } from './driver.ts'

export const IMAGE_GONE = 'Its image is gone: deploy the squid again'

/** Describes how a run ended, as a sentence for users; null after a success. `exitCode` null: the end was not observed. */
export function exitMessage(exitCode: number | null, outOfMemory: boolean): string | null {
  if (exitCode === 0) return null
  if (outOfMemory) return 'It used more memory than its profile allows and was stopped'
  if (exitCode === null) return 'It was ended from outside'
  const signal = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128)?.[0]
  return signal ? `It was ended by ${signal}` : `It ended with exit code ${exitCode}`
}

/** Describes a run that exited with 0 but was not meant to end. */
export const ENDED = 'It ended with exit code 0'

/** True when a container that ended with this code is not restarted. */
export const isFinal = (restart: Restart | undefined, exitCode: number | null): boolean =>
  restart === 'never' || (restart === 'on-failure' && exitCode === 0)
