import type { Observation } from '@shoal/runtime'
import type { StepContext } from './step.ts'

/** The delay before the first report, and the interval of the reports after it. */
const firstReportMs = 10_000
const reportIntervalMs = 30_000
const tailLines = 10
const maxResponseLength = 200
/** Responses are cut to this length before they are redacted, because only their beginning is shown. */
const maxRedactedLength = 20_000

/** A container that is not ready yet. `problem` is a sentence, `responseText` the unredacted response, if there was one. */
export type PendingContainer = { workload: string; container: string; problem: string; responseText: string | null }

/** Writes to the log of a deployment what it waits for. */
export type WaitReport = {
  /** Writes to the deployment's log when a report is due: soon after the start, then every half minute. */
  update: (pending: PendingContainer[]) => Promise<void>
  /** Logs the end of the program's last run, each end only once. */
  reportEnd: (observation: Observation, sentence: string) => Promise<void>
}

/** Reports programs that are not ready in the deployment's log, so that users see problems before the timeout. */
export function createWaitReport(context: StepContext): WaitReport {
  const { app, journal } = context
  let dueMs = app.clock.now().getTime() + firstReportMs
  const shownLines = new Map<string, string>()
  const reportedEnds = new Set<string>()
  return {
    update: async (pending) => {
      const nowMs = app.clock.now().getTime()
      if (pending.length === 0 || nowMs < dueMs) return
      dueMs = nowMs + reportIntervalMs
      for (const item of pending) {
        journal.warn(`Waiting for ${await sentenceOf(context, item)}`)
        await showLastLines(context, item, tailLines, shownLines)
      }
    },
    reportEnd: async (observation, sentence) => {
      const { workload, container, lastRun } = observation
      const endKey = `${container} ${lastRun?.id} ${lastRun?.how}`
      if (reportedEnds.has(endKey)) return
      reportedEnds.add(endKey)
      journal.warn(sentence)
      await showLastLines(context, { workload, container }, tailLines, shownLines)
    },
  }
}

/** Returns `api: It responded with HTTP status 500. The response begins with: …`. The response is redacted before it is cut. */
export async function sentenceOf(
  { redact }: StepContext,
  { container, problem, responseText }: PendingContainer,
): Promise<string> {
  const text =
    responseText === null ? '' : (await redact(responseText.slice(0, maxRedactedLength))).replaceAll(/\s+/g, ' ').trim()
  return `${container}: ${problem}${text ? ` The response begins with: ${text.slice(0, maxResponseLength)}` : ''}`
}

/** Logs the last lines of a container, unless they equal those in `shown`. */
export async function showLastLines(
  { app, journal }: StepContext,
  { workload, container }: Pick<Observation, 'workload' | 'container'>,
  limit: number,
  shown = new Map<string, string>(),
): Promise<void> {
  const lines = await app.runtime.tail(workload, container, limit)
  const text = lines.join('\n')
  if (lines.length === 0 || shown.get(container) === text) return
  shown.set(container, text)
  journal.warn(`Last lines of ${container}:`)
  for (const line of lines) journal.output('warn', `${container} | ${line}`)
}
