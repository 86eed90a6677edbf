import { isInProgress, type Deployment } from '@shoal/contract'
import type { Tone } from '../../../ui/tones.ts'

/** The text and tone of the deployment chip: ERROR, SUCCEEDED, or the current step (spec 4). */
export function deploymentChip(deployment: Pick<Deployment, 'status' | 'failed'>): {
  text: string
  tone: Tone
  isMoving: boolean
} {
  if (deployment.failed !== 'NO') return { text: 'ERROR', tone: 'bad', isMoving: false }
  if (isInProgress(deployment)) return { text: deployment.status, tone: 'info', isMoving: true }
  return { text: 'SUCCEEDED', tone: 'good', isMoving: false }
}
