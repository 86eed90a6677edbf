import type { Observation } from '@shoal/runtime'
import type { StepContext } from './step.ts'

const firstMs = 10_000
const everyMs = 30_000
const tailLines = 10
const maxAnswer = 200
/** Longer texts are cut before they are redacted; more is never shown. */
const maxRedacted = 20_000

/** A container that is not ready yet. `is`: a sentence. `answer`: its raw response, if any. */
export type Awaited = { workload: string; container: string; is: string; answer: string | null }

export type WaitReport = {
  /** Writes to the deployment's log when a report is due: soon after the start, then every half minute. */
  about: (awaited: Awaited[]) => Promise<void>
  /** Logs the end of the program's last run; each end only once. */
  ended: (observation: Observation, sentence: string) => Promise<void>
}

/** Reports in the deployment's log what it waits for, so that users see problems long before the timeout. */
export function createWaitReport(context: StepContext): WaitReport {
  const { app, journal } = context
  let dueMs = app.clock.now().getTime() + firstMs
  const shownLines = new Map<string, string>()
  const reportedEnds = new Set<string>()
  return {
    about: async (awaited) => {
      const nowMs = app.clock.now().getTime()
      if (awaited.length === 0 || nowMs < dueMs) return
      dueMs = nowMs + everyMs
      for (const one of awaited) {
        journal.warn(`Waiting for ${await sentenceOf(context, one)}`)
        await showLastLines(context, one, tailLines, shownLines)
      }
    },
    ended: async (observation, sentence) => {
      const { workload, container, lastRun } = observation
      const end = `${container} ${lastRun?.id} ${lastRun?.how}`
      if (reportedEnds.has(end)) return
      reportedEnds.add(end)
      journal.warn(sentence)
      await showLastLines(context, { workload, container }, tailLines, shownLines)
    },
  }
}

/** `api: It answers HTTP with status 500. The response begins with: …`. Redacted before it is cut. */
export async function sentenceOf({ redact }: StepContext, { container, is, answer }: Awaited): Promise<string> {
  const text = answer === null ? '' : (await redact(answer.slice(0, maxRedacted))).replaceAll(/\s+/g, ' ').trim()
  return `${container}: ${is}${text ? ` The response begins with: ${text.slice(0, maxAnswer)}` : ''}`
}

/** Logs the last lines of a container, unless they are those in `shown`. */
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
