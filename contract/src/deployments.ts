import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { CountParam, Id, IdParam, Time } from './fields.ts'
import { limits } from './limits.ts'
import { UserSummary } from './user.ts'

/** The operations of the deploy engine: those that the public client knows, and ROLLBACK, which Shoal adds. */
export const deploymentOperations = [
  'DEPLOY',
  'DEPLOY_HARD_RESET',
  'RESTART',
  'HIBERNATE',
  'DELETE',
  'SET_TAG',
  'REMOVE_TAG',
  'ROLLBACK',
] as const
/** REDEPLOY is a rollback to the image that the version already runs. */
export const deploymentTypes = [...deploymentOperations, 'REDEPLOY'] as const
export type DeploymentType = (typeof deploymentTypes)[number]

/** The steps of a deployment, named as in the public client, which calls them statuses. */
export const deploymentStatuses = [
  'UNPACKING',
  'IMAGE_BUILDING',
  'RESETTING',
  'ADDONS_SYNCING',
  'SQUID_SYNCING',
  'ADDING_INGRESS',
  'REMOVING_INGRESS',
  'SQUID_DELETING',
  'ADDONS_DELETING',
  'DEPLOYING',
  'OK',
] as const
export type DeploymentStatus = (typeof deploymentStatuses)[number]

/** The kinds of failure; `NO`: the deployment has not failed. */
export const deploymentFailures = [
  'NO',
  'UNEXPECTED',
  'PERMISSIONS',
  'REQUIREMENTS',
  'REQUIRED_SOURCE_FILE_MISSED',
  'REQUIRED_SOURCE_FILE_INVALID',
  'SOURCE_FILES_BUILD_FAILED',
] as const
export type DeploymentFailure = (typeof deploymentFailures)[number]

export const logSeverities = ['info', 'warn', 'error'] as const

export const DeploymentLog = z.object({ severity: z.enum(logSeverities), message: z.string(), at: Time })
export type DeploymentLog = z.infer<typeof DeploymentLog>

export const DeploymentStep = z.object({
  status: z.enum(deploymentStatuses),
  startedAt: Time,
  /** Null while the step is running. */
  elapsedMs: z.number().nullable(),
})
export type DeploymentStep = z.infer<typeof DeploymentStep>

export const Deployment = z.object({
  id: Id,
  type: z.enum(deploymentTypes),
  status: z.enum(deploymentStatuses),
  failed: z.enum(deploymentFailures),
  /** Complete and append-only: the public client prints the entries after those it has already received. */
  logs: z.array(DeploymentLog),
  /** Only steps that have started. */
  steps: z.array(DeploymentStep),
  /** All steps of this deployment's type, in order. */
  plan: z.array(z.enum(deploymentStatuses)),
  /** The last error in one sentence; null unless the deployment failed. */
  failureReason: z.string().nullable(),
  organization: z.object({ id: Id, code: z.string(), name: z.string().nullable() }),
  user: UserSummary.nullable(),
  squid: z.object({ id: Id, name: z.string(), slot: z.string(), reference: z.string() }).nullable(),
  options: z.object({ tag: z.string().nullable(), hardReset: z.boolean() }),
  /** The deployed image; null if it is no longer stored, which rules out a rollback to it. */
  image: z.string().nullable(),
  totalElapsedTimeMs: z.number(),
  createdAt: Time,
  updatedAt: Time,
})
export type Deployment = z.infer<typeof Deployment>

/** A file in one of the two archives. */
const ArchivedFile = z.object({
  bytes: z.number(),
  /** Null for binaries, long files, lockfiles, and files whose names suggest that they contain secrets. */
  text: z.string().nullable(),
})

/** The differences between the archives of two deployments. */
export const DeploymentChanges = z.object({
  /** The earlier deployment; null if Shoal has recorded the files of no earlier deployment. */
  against: Id.nullable(),
  /** Files that were added (`before` is null), removed (`after` is null) or changed, by path. */
  files: z.array(z.object({ path: z.string(), before: ArchivedFile.nullable(), after: ArchivedFile.nullable() })),
  /** The number of files that are the same in both archives. */
  unchanged: z.number(),
  /** False if an archive has more files than Shoal records. */
  isComplete: z.boolean(),
})
export type DeploymentChanges = z.infer<typeof DeploymentChanges>

export const deployments = {
  list: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/deployments',
    access: 'member',
    scope: 'read',
    summary: 'Deployments, newest first; with their log lines only if the query selects one squid or one deployment',
    query: {
      squidId: IdParam.optional(),
      statusGroup: z.enum(['IN_PROGRESS']).optional(),
      limit: CountParam('limit', limits.deploymentsPageSizeMax).optional(),
      /** Deployments older than this id. */
      before: IdParam.optional(),
      /** `false` omits log lines, for frequent polling. */
      logs: z.enum(['false']).optional(),
    },
    payload: z.array(Deployment),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/deployments/{id}',
    access: 'member',
    scope: 'read',
    summary: 'One deployment with its whole log',
    query: {
      /** Skips this many lines, for clients that already have them: the log is append-only. */
      logsAfter: z
        .string()
        .regex(/^\d{1,9}$/)
        .optional(),
    },
    payload: Deployment,
  }),
  getChanges: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/deployments/{id}/changes',
    access: 'squids.write',
    scope: 'deploy',
    summary: 'The files that differ from those of another deployment, by default the previous successful one',
    query: { against: IdParam.optional() },
    payload: DeploymentChanges,
    rateLimit: { calls: 120, perMs: 600_000 },
  }),
  createUpload: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/deployments/upload-url',
    access: 'squids.write',
    scope: 'deploy',
    summary: 'Create an upload URL for the archive of a squid',
    payload: z.object({
      /** A path below `/api/v1`, since the public client cannot use an absolute plain-http URL. */
      uploadUrl: z.string(),
      uploadFields: z.record(z.string(), z.string()),
      /** The value for `artifactUrl` of the deployment. */
      fileUrl: z.string(),
      maxUploadBytes: z.number(),
    }),
  }),
  upload: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/uploads/{upload}',
    access: 'squids.write',
    scope: 'deploy',
    summary: 'Upload the archive (multipart, part `file`)',
    kind: 'upload',
    payload: z.object({ fileUrl: z.string(), bytes: z.number() }),
  }),
}
