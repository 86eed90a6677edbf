import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { IdParam, Password, RequiredText, Time } from './fields.ts'
import { operatorOrgSorts, operatorSquidSorts } from './operator-sorts.ts'
import { orgStatuses } from './org-status.ts'
import { OperatorDeployment, OperatorOverview } from './operator-overview.ts'
import { OperatorOrg, OperatorSquid, OperatorUser } from './operator-payloads.ts'
import { Maintenance } from './maintenance.ts'
import { Session } from './user.ts'

export const operatorPageSize = 50

/** One page of a list that the server sorts. `offset` is a number of rows. */
const page = { order: z.enum(['asc', 'desc']).optional(), offset: IdParam.optional() }
const search = z.string().trim().max(200).optional()
const Reason = RequiredText('Reason is required').max(500, 'At most 500 characters.')

export const operators = {
  getAccess: endpoint({
    method: 'GET',
    path: '/v1/admin',
    access: 'operator',
    scope: 'session',
    summary: "The time until which the operator's session may make changes",
    payload: z.object({
      /** Null if the password must be entered first. */
      passwordUntil: Time.nullable(),
      /** False for accounts that sign in only with a provider. They must set a password before they can change anything. */
      hasPassword: z.boolean(),
    }),
  }),
  confirmPassword: endpoint({
    method: 'POST',
    path: '/v1/admin/password',
    access: 'operator',
    scope: 'session',
    summary: 'Enter the password again, which allows changes for ten minutes',
    body: z.object({ password: Password }),
    payload: z.object({ passwordUntil: Time }),
    rateLimit: { calls: 10, perMs: 600_000 },
  }),
  getOverview: endpoint({
    method: 'GET',
    path: '/v1/admin/overview',
    access: 'operator',
    scope: 'session',
    summary: 'What does not work, and the state of processes, Postgres, backups and certificates',
    payload: OperatorOverview,
  }),
  listDeployments: endpoint({
    method: 'GET',
    path: '/v1/admin/deployments',
    access: 'operator',
    scope: 'session',
    summary: 'Deployments of all organizations that have not ended, the oldest first',
    payload: z.object({ deployments: z.array(OperatorDeployment) }),
  }),
  listOrgs: endpoint({
    method: 'GET',
    path: '/v1/admin/orgs',
    access: 'operator',
    scope: 'session',
    summary: 'Organizations with their cost and usage, 50 per page',
    query: {
      /** A part of the name or code, or the email of a member. */
      search,
      state: z.enum([...orgStatuses, 'PLAYGROUND', 'SUSPENDED']).optional(),
      sort: z.enum(operatorOrgSorts).optional(),
      ...page,
    },
    payload: z.object({ orgs: z.array(OperatorOrg), total: z.number() }),
  }),
  suspendOrg: endpoint({
    method: 'POST',
    path: '/v1/admin/orgs/{code}/suspension',
    access: 'operator.write',
    scope: 'session',
    summary: 'Suspend an organization, with a reason that its members see',
    body: z.object({ reason: Reason }),
    payload: z.object({ code: z.string() }),
  }),
  resumeOrg: endpoint({
    method: 'DELETE',
    path: '/v1/admin/orgs/{code}/suspension',
    access: 'operator.write',
    scope: 'session',
    summary: 'End the suspension of an organization',
    payload: z.object({ code: z.string() }),
  }),
  changeLimits: endpoint({
    method: 'PUT',
    path: '/v1/admin/orgs/{code}/limits',
    access: 'operator.write',
    scope: 'session',
    summary: 'Change how many squids an organization may have',
    body: z.object({
      squids: z
        .number('Enter a whole number')
        .int('Enter a whole number')
        .min(0, 'Must be at least 0')
        .max(10_000, 'Must be at most 10000'),
    }),
    payload: z.object({ code: z.string(), squids: z.number() }),
  }),
  openSupport: endpoint({
    method: 'POST',
    path: '/v1/admin/orgs/{code}/support',
    access: 'operator.write',
    scope: 'session',
    summary: 'Let this session read one organization, except its credentials and exports, for 30 minutes',
    payload: z.object({ code: z.string(), until: Time }),
  }),
  closeSupport: endpoint({
    method: 'DELETE',
    path: '/v1/admin/support',
    access: 'operator',
    scope: 'session',
    summary: 'End the support access to an organization',
    payload: z.object({ success: z.boolean() }),
  }),
  announceMaintenance: endpoint({
    method: 'PUT',
    path: '/v1/admin/maintenance',
    access: 'operator.write',
    scope: 'session',
    summary: 'Announce a maintenance window to all users; replaces the previous announcement',
    body: z
      .object({
        message: RequiredText('Message is required').max(300, 'At most 300 characters.'),
        startsAt: Time,
        endsAt: Time,
        hasScreen: z.boolean().default(false),
      })
      .refine(({ startsAt, endsAt }) => startsAt < endsAt, { message: 'Must be after the start', path: ['endsAt'] }),
    payload: Maintenance,
  }),
  withdrawMaintenance: endpoint({
    method: 'DELETE',
    path: '/v1/admin/maintenance',
    access: 'operator.write',
    scope: 'session',
    summary: 'Withdraw the announcement of the maintenance window',
    payload: z.object({ success: z.boolean() }),
  }),
  listUsers: endpoint({
    method: 'GET',
    path: '/v1/admin/users',
    access: 'operator',
    scope: 'session',
    summary: 'Users with their sessions, the newest first, 50 per page',
    query: {
      /** A part of the email or name. */
      search,
      offset: page.offset,
    },
    payload: z.object({ users: z.array(OperatorUser), total: z.number() }),
  }),
  disableUser: endpoint({
    method: 'POST',
    path: '/v1/admin/users/{id}/disabled',
    access: 'operator.write',
    scope: 'session',
    summary: 'Disable an account: its sessions end, and its API tokens are rejected',
    payload: z.object({ success: z.boolean() }),
  }),
  enableUser: endpoint({
    method: 'DELETE',
    path: '/v1/admin/users/{id}/disabled',
    access: 'operator.write',
    scope: 'session',
    summary: 'Enable a disabled account',
    payload: z.object({ success: z.boolean() }),
  }),
  listSessions: endpoint({
    method: 'GET',
    path: '/v1/admin/users/{id}/sessions',
    access: 'operator',
    scope: 'session',
    summary:
      'Unexpired sessions of a user with device, address and last use, the most recently used first; at most 200',
    payload: z.object({ sessions: z.array(Session) }),
  }),
  endSession: endpoint({
    method: 'DELETE',
    path: '/v1/admin/users/{id}/sessions/{sessionId}',
    access: 'operator.write',
    scope: 'session',
    summary: 'End one session of a user',
    payload: z.object({ ended: z.number() }),
  }),
  endSessions: endpoint({
    method: 'DELETE',
    path: '/v1/admin/users/{id}/sessions',
    access: 'operator.write',
    scope: 'session',
    summary: "End all sessions of a user, except the operator's own current one",
    payload: z.object({ ended: z.number() }),
  }),
  resendConfirmation: endpoint({
    method: 'POST',
    path: '/v1/admin/users/{id}/confirmation',
    access: 'operator.write',
    scope: 'session',
    summary: 'Resend the confirmation email of an account',
    payload: z.object({ success: z.boolean() }),
  }),
  listSquids: endpoint({
    method: 'GET',
    path: '/v1/admin/squids',
    access: 'operator',
    scope: 'session',
    summary: 'Versions of all organizations with their usage, 50 per page',
    query: {
      /** A part of `name@slot` or of the code of the organization. */
      search,
      sort: z.enum(operatorSquidSorts).optional(),
      ...page,
    },
    payload: z.object({ squids: z.array(OperatorSquid), total: z.number() }),
  }),
  hibernateSquid: endpoint({
    method: 'POST',
    path: '/v1/admin/orgs/{code}/squids/{reference}/hibernation',
    access: 'operator.write',
    scope: 'session',
    summary: 'Hibernate one version, with a reason that its log shows; members of the organization may restart it',
    body: z.object({ reason: Reason }),
    payload: z.object({ reference: z.string() }),
  }),
}
