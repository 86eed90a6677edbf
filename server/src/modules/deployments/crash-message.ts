import type { Observation } from '@shoal/runtime'
import { isServer } from '../containers.ts'

/** Exit code of a program that the kernel ended because a file became too large: 128 + SIGXFSZ. */
const fileLimitExitCode = 153

/** Describes how the latest run of a container failed, as the rest of a sentence that begins with its name. */
export function crashMessage(observation: Observation): string {
  const { how, exitCode = null, ordinal = 0 } = observation.lastRun ?? {}
  if (how === 'oom')
    return 'was killed because it used more memory than its profile allows; choose a larger profile under `scale` in the manifest'
  if (observation.state === 'failed')
    return `cannot be started${observation.reason ? `: ${observation.reason.replace(/\.$/, '')}` : ''}`
  if (exitCode === fileLimitExitCode)
    return 'was ended (SIGXFSZ) because it wrote more to a file or to its log than the limit of its disk space'
  const attempts = ordinal > 0 ? `, the last of ${ordinal + 1} attempts` : ''
  const contradiction =
    exitCode === 0 && !isServer({ name: observation.container }) ? ' although its chain has more blocks' : ''
  return `ended with exit code ${exitCode ?? 'unknown'}${contradiction}${attempts}`
}
