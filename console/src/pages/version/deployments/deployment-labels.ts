import {
  isInProgress,
  type Deployment,
  type DeploymentFailure,
  type DeploymentStatus,
  type DeploymentType,
} from '@shoal/contract'
import type { Tone } from '../../../ui/tones.ts'

/** Display names of the steps. */
const stepLabels: Record<DeploymentStatus, string> = {
  UNPACKING: 'Unpacking',
  IMAGE_BUILDING: 'Building',
  RESETTING: 'Resetting data',
  ADDONS_SYNCING: 'Addons',
  SQUID_SYNCING: 'Starting',
  ADDING_INGRESS: 'Adding addresses',
  REMOVING_INGRESS: 'Removing addresses',
  SQUID_DELETING: 'Stopping',
  ADDONS_DELETING: 'Deleting data',
  DEPLOYING: 'Switching',
  OK: 'Done',
}

/** The name of a step in a deployment of this type: hibernating only stops the programs. */
export const stepLabel = (type: DeploymentType, status: DeploymentStatus): string =>
  type === 'HIBERNATE' && status === 'SQUID_SYNCING' ? 'Stopping' : stepLabels[status]

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
