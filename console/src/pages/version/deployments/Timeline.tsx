import { isInProgress, type Deployment } from '@shoal/contract'
import { Check, Circle, CircleDashed, X } from 'lucide-react'
import type { ReactNode } from 'react'
import { formatDuration } from '../../../lib/format.ts'
import { useTicking } from '../../../lib/ticker.ts'
import { Spinner } from '../../../ui/Spinner.tsx'
import { cx } from '../../../ui/classes.ts'
import { stepLabel } from '../../../components/deployment-title.ts'
import { timelineOf, type TimelineStep } from './timeline.ts'

const icons: Record<TimelineStep['state'], ReactNode> = {
  done: <Check size={14} className="text-good" />,
  running: <Spinner />,
  failed: <X size={14} className="text-bad" />,
  waiting: <Circle size={12} className="text-ink-3" />,
  skipped: <CircleDashed size={12} className="text-ink-3" />,
}
const stateLabels: Record<TimelineStep['state'], string> = {
  done: 'done',
  running: 'running',
  failed: 'failed',
  waiting: 'pending',
  skipped: 'not reached',
}

/** The steps of a deployment with their durations, and the total. */
export function Timeline({ deployment }: { deployment: Deployment }) {
  const { createdAt, totalElapsedTimeMs } = deployment
  const steps = timelineOf(deployment)
  return (
    <>
      <ol className="px-3.5 py-2" aria-label="Steps">
        {steps.map((step) => (
          <li
            key={step.status}
            className={cx('flex h-7.5 items-center gap-2.5', step.startedAt === null && 'text-ink-3')}
          >
            <span className="grid w-4 place-items-center" aria-hidden>
              {icons[step.state]}
            </span>
            <span className={cx('flex-1', step.state === 'failed' && 'text-bad')}>
              {stepLabel(deployment.type, step.status)}
              <span className="sr-only">, {stateLabels[step.state]}</span>
            </span>
            {step.startedAt !== null && <Elapsed startedAt={step.startedAt} elapsedMs={step.elapsedMs} />}
          </li>
        ))}
      </ol>
      <p className="flex items-center border-t border-line px-3.5 py-2.5">
        <span className="flex-1">Total</span>
        <Elapsed startedAt={createdAt} elapsedMs={isInProgress(deployment) ? null : totalElapsedTimeMs} />
      </p>
    </>
  )
}

type Props = { startedAt: string; elapsedMs: number | null }

/** The duration of a step or deployment, or the time since its start while `elapsedMs` is null. */
export function Elapsed({ startedAt, elapsedMs }: Props) {
  return (
    <span className="tabular whitespace-nowrap">
      {elapsedMs === null ? <RunningTime startedAt={startedAt} /> : formatDuration(elapsedMs)}
    </span>
  )
}

function RunningTime({ startedAt }: { startedAt: string }) {
  // The time is in whole seconds, so that it does not flicker. It would be negative if the browser's clock is behind the server's.
  return useTicking((nowMs) => `${Math.max(0, Math.floor((nowMs - Date.parse(startedAt)) / 1000))} s`)
}
