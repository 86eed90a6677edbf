import { isInProgress, type Deployment, type DeploymentFailure } from '@shoal/contract'
import type { Tone } from '../../../ui/tones.ts'

export const failureLabels: Record<Exclude<DeploymentFailure, 'NO'>, string> = {
  UNEXPECTED: 'Something failed on our side',
  PERMISSIONS: 'Not allowed',
  REQUIREMENTS: 'A requirement is not met',
  REQUIRED_SOURCE_FILE_MISSED: 'A file is missing',
  REQUIRED_SOURCE_FILE_INVALID: 'A file is not valid',
  SOURCE_FILES_BUILD_FAILED: 'The build failed',
}

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

/** The start of an image's hash, enough to identify it. */
export const shortImage = (image: string): string => image.slice(0, 12)
