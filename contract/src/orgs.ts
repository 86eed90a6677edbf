import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { Email, Id, OrgCode, OrgEmail, OrgName, Time } from './fields.ts'
import { orgStatuses } from './org-status.ts'
import { roleTypes } from './permissions.ts'

// Defined in a separate file, so that pages that only show a plan do not load zod.
export { isCardAdded, isUnpaid, orgStatuses, planLabels, type OrgStatus } from './org-status.ts'

const RoleType = z.enum(roleTypes)

export const BillingDetails = z.object({
  name: z.string(),
  email: z.string(),
  country: z.string(),
  city: z.string(),
  postalCode: z.string(),
  addressLine1: z.string(),
  vatId: z.string().nullable(),
})

export const Org = z.object({
  id: Id,
  code: z.string(),
  /** Null if the organization has no name; the console then shows its code (spec 3). */
  name: z.string().nullable(),
  email: z.object({ email: z.string().nullable(), pendingEmail: z.string().nullable() }),
  status: z.enum(orgStatuses),
  /** The caller's role. */
  roleType: RoleType,
  /** `squids`: the maximum number of squids. `playground`: whether this is a playground. */
  limits: z.object({ squids: z.number(), playground: z.boolean() }),
  billingDetails: BillingDetails.nullable(),
  /** When and why the operator suspended the organization; null if it is not suspended. */
  suspension: z.object({ at: Time, reason: z.string() }).nullable(),
})
export type Org = z.infer<typeof Org>

/** A member, or a user with an open invitation. */
export const Role = z.object({
  id: Id,
  type: RoleType,
  email: z.string(),
  fullName: z.string().nullable(),
  status: z.enum(['accepted', 'invited']),
})
export type Role = z.infer<typeof Role>

/** The secret of the link in the email. Without it, the call requires an account that has proved access to the invited mailbox. */
const InvitationKey = z.object({ key: z.string().min(1).max(500).optional() }).optional()

/** A quota; `usage` and `capacity` are decimal strings, as in SQD Cloud. */
export const Quota = z.object({ id: z.string(), usage: z.string(), capacity: z.string() })
export type Quota = z.infer<typeof Quota>

export const orgs = {
  list: endpoint({
    method: 'GET',
    path: '/v1/orgs',
    access: 'verified',
    scope: 'read',
    summary: 'Organizations of the caller, the playground first',
    payload: z.array(Org),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}',
    access: 'member',
    scope: 'read',
    summary: 'One organization',
    payload: Org,
  }),
  create: endpoint({
    method: 'POST',
    path: '/v1/orgs',
    access: 'verified',
    scope: 'admin',
    summary: 'Create an organization; the caller becomes its admin',
    body: z.object({
      code: OrgCode,
      name: OrgName,
      email: OrgEmail,
    }),
    payload: Org,
    rateLimit: { calls: 30, perMs: 3_600_000 },
  }),
  update: endpoint({
    method: 'PUT',
    path: '/v1/orgs/{code}',
    access: 'organization.write',
    scope: 'admin',
    summary: 'Change the name or the notification email (which stays pending until it is confirmed)',
    body: z.object({
      name: OrgName.optional(),
      email: OrgEmail.pipe(z.string().max(64, 'Min 3, max 64 symbols.')).optional(),
    }),
    payload: Org,
  }),
  sendVerifyEmail: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/send-verify-email',
    access: 'organization.write',
    scope: 'admin',
    summary: 'Resend the confirmation link for the notification email',
    body: z.object({ email: OrgEmail.optional() }).optional(),
    payload: z.object({ success: z.boolean() }),
    rateLimit: { calls: 5, perMs: 600_000 },
  }),
  verifyEmail: endpoint({
    method: 'POST',
    path: '/v1/orgs/verify-email',
    access: 'public',
    summary: 'Confirm a notification email, with the code from the link in the email',
    body: z.object({ code: z.string().min(1).max(500) }),
    payload: z.object({ code: z.string(), name: z.string().nullable(), email: z.string() }),
    rateLimit: { calls: 30, perMs: 600_000 },
  }),
  openVerification: endpoint({
    method: 'GET',
    path: '/v1/orgs/verify-email',
    access: 'public',
    summary: 'Redirect to the page of the console that confirms a notification email; changes nothing',
    query: { code: z.string().min(1).max(500) },
    kind: 'file',
    payload: z.null(),
  }),
  delete: endpoint({
    method: 'DELETE',
    path: '/v1/orgs/{code}',
    access: 'organization.write',
    scope: 'session',
    summary: 'Delete the organization with all its squids and data',
    payload: z.object({ code: z.string() }),
  }),
  listRoles: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/roles',
    access: 'member',
    scope: 'read',
    summary: 'Members and open invitations',
    payload: z.array(Role),
  }),
  inviteMember: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/roles',
    access: 'role.write',
    scope: 'admin',
    summary: 'Invite a user by email',
    body: z.object({ email: Email, roleType: RoleType.default('viewer') }),
    payload: Role,
    rateLimit: { calls: 60, perMs: 3_600_000 },
  }),
  changeRole: endpoint({
    method: 'PUT',
    path: '/v1/orgs/{code}/roles/{id}',
    access: 'role.write',
    scope: 'admin',
    summary: "Change another member's role",
    body: z.object({ roleType: RoleType }),
    payload: Role,
  }),
  removeMember: endpoint({
    method: 'DELETE',
    path: '/v1/orgs/{code}/roles/{id}',
    access: 'member',
    scope: 'admin',
    summary: 'Remove a member (administrators) or leave the organization',
    payload: Role,
  }),
  acceptInvite: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/roles/{id}/accept',
    access: 'verified',
    scope: 'admin',
    summary: 'Accept an invitation that the caller received',
    body: InvitationKey,
    payload: z.object({ code: z.string() }),
  }),
  rejectInvite: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/roles/{id}/reject',
    access: 'verified',
    scope: 'admin',
    summary: 'Reject an invitation that the caller received',
    body: InvitationKey,
    payload: z.object({ code: z.string() }),
  }),
  getQuotas: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/quotas',
    access: 'member',
    scope: 'read',
    summary: 'Quotas and their usage',
    payload: z.array(Quota),
  }),
}
