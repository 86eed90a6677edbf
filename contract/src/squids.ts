import { z } from 'zod'
import { Deployment } from './deployments.ts'
import { endpoint } from './endpoint.ts'
import { Id, SquidName, TagName } from './fields.ts'
import { Squid, SquidSummary } from './squid-payloads.ts'

/** Sent by the public client. Unknown keys are dropped, not rejected. */
export const DeployRequest = z.object({
  artifactUrl: z.string().min(1).max(500),
  manifestPath: z.string().min(1).max(4096).default('squid.yaml'),
  options: z.object({
    hardReset: z.boolean().default(false),
    overrideName: SquidName,
    overrideSlot: z.string().max(20).optional(),
    tag: TagName.optional(),
  }),
})
export type DeployRequest = z.infer<typeof DeployRequest>

/** Up to 200 comma-separated ids: the versions visible on one screen of the console. */
const Ids = z.string().regex(/^\d{1,15}(,\d{1,15}){0,199}$/, 'Up to 200 ids, separated by commas')

const filters = { name: z.string().max(100).optional(), search: z.string().max(200).optional() }

export const squids = {
  listMine: endpoint({
    method: 'GET',
    path: '/v1/user/squids',
    access: 'verified',
    scope: 'read',
    summary: 'Versions in all organizations of the caller',
    query: { name: filters.name },
    payload: z.array(Squid),
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/squids',
    access: 'member',
    scope: 'read',
    summary: 'Versions of the organization, sorted by name, then newest first',
    query: filters,
    payload: z.array(Squid),
  }),
  listSummaries: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/squids/summaries',
    access: 'member',
    scope: 'read',
    summary: 'Versions without manifest and package.json, for polling: all of them, or those with the given ids',
    query: { ids: Ids.optional() },
    payload: z.array(SquidSummary),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/squids/{reference}',
    access: 'member',
    scope: 'read',
    summary:
      'One version by `name@slot` or `name:tag`; with `files=false`, for polling, without manifest and package.json',
    query: { files: z.enum(['true', 'false']).optional() },
    payload: Squid,
  }),
  deploy: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/squids/deploy',
    access: 'squids.write',
    scope: 'deploy',
    summary: 'Deploy an uploaded archive: a new version, or an update of the one in the slot',
    body: DeployRequest,
    payload: Deployment,
  }),
  restart: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/squids/{reference}/restart',
    access: 'squids.write',
    scope: 'deploy',
    summary: 'Restart with the current secrets; also starts a hibernated version',
    payload: Deployment,
  }),
  hibernate: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/squids/{reference}/hibernate',
    access: 'squids.write',
    scope: 'deploy',
    summary: 'Stop the programs of a version and keep its data',
    payload: Deployment,
  }),
  rollback: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/squids/{reference}/rollback',
    access: 'squids.write',
    scope: 'deploy',
    summary: 'Roll back to the image of an earlier deployment',
    body: z.object({ deploymentId: Id }),
    payload: Deployment,
  }),
  delete: endpoint({
    method: 'DELETE',
    path: '/v1/orgs/{code}/squids/{reference}',
    access: 'squids.write',
    scope: 'deploy',
    summary: 'Delete the version with its database; this cannot be undone',
    payload: Deployment,
  }),
  setTag: endpoint({
    method: 'PUT',
    path: '/v1/orgs/{code}/squids/{reference}/tags/{tag}',
    access: 'squids.write',
    scope: 'deploy',
    summary: 'Set a tag on the version, removing it from other versions of the squid',
    payload: Deployment,
  }),
  removeTag: endpoint({
    method: 'DELETE',
    path: '/v1/orgs/{code}/squids/{reference}/tags/{tag}',
    access: 'squids.write',
    scope: 'deploy',
    summary: 'Remove a tag from the version',
    payload: Deployment,
  }),
  exportDatabase: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/squids/{reference}/database/export',
    access: 'credentials.read',
    scope: 'admin',
    kind: 'file',
    summary:
      'The whole database as a compressed SQL script for psql, even while the version is hibernated or a payment is due',
    payload: z.null(),
    rateLimit: { calls: 20, perMs: 3_600_000 },
  }),
  query: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/squids/{reference}/graphql',
    access: 'member',
    scope: 'read',
    summary: "Send a query to the squid's public GraphQL API, for pages that its CORS rules block",
    isChange: false,
    rateLimit: { calls: 120, perMs: 60_000 },
    body: z.object({
      query: z.string().max(200_000),
      variables: z.record(z.string(), z.unknown()).nullish(),
      operationName: z.string().max(500).nullish(),
    }),
    /** The squid's response, unchanged. */
    payload: z.object({ response: z.record(z.string(), z.unknown()) }),
  }),
}
