import type { Deployment } from '@shoal/contract'
import { TroubleshootingLink } from '../TroubleshootingLink.tsx'
import { Alert } from '../../ui/Alert.tsx'
import { withoutColours } from './ansi.ts'
import { causeOf, failureLabels, failureSummary, firstErrorLine } from './failure-text.ts'

type Props = {
  deployment: Deployment
  /** What runs now, if this is the last deployment of its version. */
  state?: string | null
}

/**
 * Shows why a deployment failed, what to do, and what runs now. If a build failed, it shows at most the first error, because the output is
 * in the log; otherwise, it shows the end of the output.
 */
export function FailureAlert({ deployment, state }: Props) {
  const { failed, failureReason } = deployment
  if (failed === 'NO') return null
  const summary = failureSummary(deployment)
  const cause = causeOf(deployment)
  const isBuild = failed === 'SOURCE_FILES_BUILD_FAILED'
  const error = cause?.isSpecific === false ? firstErrorLine(deployment) : ''
  const output = isBuild ? error : withoutColours(failureReason?.slice(summary.length) ?? '')
  return (
    <Alert tone="bad" title={failureLabels[failed]} className="mb-4.5">
      <p className="wrap-anywhere">{cause?.text ?? summary}</p>
      {output && output.trim() !== summary && (
        <pre className="max-h-96 overflow-auto py-1 wrap-anywhere whitespace-pre-wrap" tabIndex={0} aria-label="Error">
          {output.trim()}
        </pre>
      )}
      {state && <p className="text-ink-2">{state}</p>}
      <TroubleshootingLink kind={failed} />
    </Alert>
  )
}
