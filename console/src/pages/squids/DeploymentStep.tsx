import type { SquidSummary } from '@shoal/contract'
import { useRunningDeployment } from '../../api/squids.ts'
import { stepLabel } from '../../components/deployment-title.ts'
import { formatSpan } from '../../components/squid/sync.ts'
import { useTicking } from '../../lib/ticker.ts'

/** The current step of a running deployment, and the time since the step started: `Building · 41 s`. */
export default function DeploymentStep({ id, type, status }: NonNullable<SquidSummary['lastDeploy']>) {
  const running = useRunningDeployment(id)
  const step = stepLabel(running?.type ?? type, running?.status ?? status)
  const startedAt = running?.steps.at(-1)?.startedAt
  return (
    <>
      {step}
      {startedAt && (
        <>
          {' '}
          · <Elapsed since={startedAt} />
        </>
      )}
    </>
  )
}

function Elapsed({ since }: { since: string }) {
  return useTicking((nowMs) => formatSpan((nowMs - Date.parse(since)) / 1000))
}
