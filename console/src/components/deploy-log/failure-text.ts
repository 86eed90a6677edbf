import type { Deployment, DeploymentFailure } from '@shoal/contract'
import { withoutColours } from './ansi.ts'

type Failure = Pick<Deployment, 'failed' | 'failureReason'>

/** Display names of the kinds of failures. */
export const failureLabels: Record<Exclude<DeploymentFailure, 'NO'>, string> = {
  UNEXPECTED: 'Something failed on our side',
  PERMISSIONS: 'Not allowed',
  REQUIREMENTS: 'A requirement is not met',
  REQUIRED_SOURCE_FILE_MISSED: 'A file is missing',
  REQUIRED_SOURCE_FILE_INVALID: 'A file is not valid',
  SOURCE_FILES_BUILD_FAILED: 'The build failed',
}

const errorLine = /\berror\b|\b[A-Z]\w*Error\b|\bERR_|\bERR!|✖|✘|\bCannot find\b|\bnot found\b/i
const typeScriptError = /^(.+?)[(:](\d+)[,:](\d+)\)?(?::| -) error (TS\d+): (.+)$/

/** Returns the first line of a failure's reason, which says what failed. The other lines are the end of the output. */
export const failureSummary = ({ failureReason }: Pick<Failure, 'failureReason'>): string =>
  failureReason?.split('\n', 1)[0] ?? ''

/** The index of the first line that reports an error; −1 if there is none. */
export const firstErrorIndex = (lines: readonly { severity: string; message: string }[]): number => {
  const markedIndex = lines.findIndex(({ severity }) => severity === 'error')
  const matchIndex = lines.findIndex(({ message }) => errorLine.test(message) && !message.startsWith('$ '))
  return markedIndex < 0 || (matchIndex >= 0 && matchIndex < markedIndex) ? matchIndex : markedIndex
}

/** The first line of the output that reports an error; otherwise, its last line; without output, the summary. */
export function firstErrorLine(failure: Failure): string {
  const [summary = '', ...output] = (failure.failureReason ?? '').split('\n').map(withoutColours)
  const found = output.find((line) => errorLine.test(line)) ?? output.findLast((line) => line.trim() !== '')
  return (found ?? summary).trim()
}

/** The cause of a failure, and what to do. `isSpecific` is true if the text contains the first error. */
type Cause = { text: string; isSpecific: boolean }

/** The cause of a failed build, and what to do; null for other failures, whose reasons already contain both. */
export function causeOf(failure: Failure): Cause | null {
  if (failure.failed !== 'SOURCE_FILES_BUILD_FAILED') return null
  const line = firstErrorLine(failure)
  const [, file, row, , code, message = ''] = typeScriptError.exec(line) ?? []
  if (file !== undefined) {
    const text = `TypeScript does not accept ${file}, line ${row}: ${message.replace(/[.]$/, '')} (${code}).`
    return { text: `${text} Correct it, check with npm run build, and deploy again.`, isSpecific: true }
  }
  const module = /Cannot find (?:module|package) '([^']+)'/.exec(line)?.[1]
  if (module !== undefined) {
    const text = `The build cannot find ${module}.`
    return {
      text: `${text} Add it to the dependencies in package.json, update the lockfile, and deploy again.`,
      isSpecific: true,
    }
  }
  const summary = failureSummary(failure)
  if (!/ended with exit code/.test(summary)) return null
  const text = `${summary} Run it in the folder of the squid to see the same error, correct it, and deploy again.`
  return { text, isSpecific: false }
}
