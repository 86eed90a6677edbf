import { isInProgress, type Deployment } from '@shoal/contract'
import type { Tone } from '../../../ui/tones.ts'

/** The text and tone of a deployment's status: ERROR, SUCCEEDED, or the current step (spec 4). */
export function deploymentChip(deployment: Pick<Deployment, 'status' | 'failed'>): {
  text: string
  tone: Tone
  isPulsing: boolean
} {
  if (deployment.failed !== 'NO') return { text: 'ERROR', tone: 'bad', isPulsing: false }
  if (isInProgress(deployment)) return { text: deployment.status, tone: 'info', isPulsing: true }
  return { text: 'SUCCEEDED', tone: 'good', isPulsing: false }
}
