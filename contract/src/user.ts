import { z } from 'zod'
import { EndedCredentials, oauthProviders } from './auth.ts'
import { endpoint } from './endpoint.ts'
import { Id, NewPassword, Password, PersonName, RequiredText, Time, TokenName } from './fields.ts'
import { Maintenance } from './maintenance.ts'
import { Org } from './orgs.ts'
import { tokenScopes } from './token-scope.ts'

// In a separate file, so that the questionnaire does not load zod.
export { occupations, sources, usages } from './onboarding-answers.ts'

const answer = (name: string) => RequiredText(`${name} is required`).max(200)

/** Answers of the welcome questionnaire. The custom text of "Other" replaces the value (spec 3). */
export const OnboardingForm = z.object({
  occupation: answer('Occupation'),
  source: answer('Source'),
  usage: answer('Usage'),
})
export type OnboardingForm = z.infer<typeof OnboardingForm>

export const User = z.object({
  id: Id,
  email: z.string(),
  /** The part of the email before the `@`. */
  username: z.string(),
  fullName: z.string(),
  emailVerified: z.boolean(),
  avatarUrl: z.string().nullable(),
  /** May open the operator's console. */
  isOperator: z.boolean(),
  policyAccepted: z.boolean(),
  onboardingForm: OnboardingForm.nullable(),
  /** The playground first, then by name (spec 3). An organization that the operator is viewing for support comes last. */
  organizations: z.array(Org),
  /** The organization that the operator is viewing for support in this session. */
  support: z.object({ code: z.string(), until: Time }).nullable(),
  /** The announced maintenance window; null after its end. */
  maintenance: Maintenance.nullable(),
})
export type User = z.infer<typeof User>

export const Invitation = z.object({
  /** The id of the invitation; `acceptInviteId` in links. */
  id: Id,
  organization: z.object({ code: z.string(), name: z.string().nullable() }),
  invitedBy: z.object({ email: z.string(), fullName: z.string() }).nullable(),
})
export type Invitation = z.infer<typeof Invitation>

export const ApiToken = z.object({
  id: Id,
  name: z.string(),
  scope: z.enum(tokenScopes),
  /** The only organization in which the token is valid; null if it is valid in all organizations of its user. */
  organization: z.object({ code: z.string(), name: z.string().nullable() }).nullable(),
  /** The first characters of the key, by which users recognize it. */
  prefix: z.string(),
  createdAt: Time,
  /** Null if the token does not expire. */
  expiresAt: Time.nullable(),
  /** Null before the first use. */
  lastUsedAt: Time.nullable(),
})
export type ApiToken = z.infer<typeof ApiToken>

export const Session = z.object({
  id: z.string(),
  createdAt: Time,
  lastSeenAt: Time,
  userAgent: z.string().nullable(),
  ip: z.string().nullable(),
  /** The session of this request. */
  isCurrent: z.boolean(),
})
export type Session = z.infer<typeof Session>

const minute = 60_000

export const user = {
  get: endpoint({
    method: 'GET',
    path: '/v1/user',
    access: 'user',
    scope: 'read',
    summary: 'The profile of the caller',
    payload: User,
  }),
  update: endpoint({
    method: 'PUT',
    path: '/v1/user',
    access: 'user',
    scope: 'session',
    summary: 'Change the full name',
    body: z.object({ fullName: PersonName('Name is required') }),
    payload: User,
  }),
  completeOnboarding: endpoint({
    method: 'PUT',
    path: '/v1/user/onboarding',
    access: 'user',
    scope: 'session',
    summary: 'Accept the terms and answer the questionnaire',
    body: z.object({
      policyAccepted: z.literal(true, 'Field must be checked').optional(),
      subscribeNewsletter: z.boolean().optional(),
      onboardingForm: OnboardingForm.optional(),
    }),
    payload: User,
  }),
  changePassword: endpoint({
    method: 'POST',
    path: '/v1/user/password/change',
    access: 'user',
    scope: 'session',
    summary: 'Change the password; ends all other sessions and, by default, revokes all API tokens',
    body: z.object({ oldPassword: Password, newPassword: NewPassword, endApiTokens: z.boolean().default(true) }),
    payload: z.object({
      success: z.boolean(),
      ended: EndedCredentials,
      /** Providers with which the user can still sign in. */
      providers: z.array(z.enum(oauthProviders)),
    }),
    rateLimit: { calls: 20, perMs: 10 * minute },
  }),
  listInvites: endpoint({
    method: 'GET',
    path: '/v1/user/invites',
    access: 'verified',
    scope: 'admin',
    summary: 'Pending invitations of the caller',
    payload: z.array(Invitation),
  }),
  resendConfirmation: endpoint({
    method: 'POST',
    path: '/v1/user/email/confirm/resend',
    access: 'user',
    scope: 'admin',
    summary: 'Resend the confirmation email',
    payload: z.object({ success: z.boolean() }),
    rateLimit: { calls: 5, perMs: 10 * minute },
  }),
  listApiTokens: endpoint({
    method: 'GET',
    path: '/v1/user/api-tokens',
    access: 'verified',
    scope: 'admin',
    summary: 'API tokens of the caller',
    payload: z.array(ApiToken),
  }),
  createApiToken: endpoint({
    method: 'POST',
    path: '/v1/user/api-tokens',
    access: 'verified',
    scope: 'session',
    summary: 'Create an API token; its key is returned only once',
    body: z.object({
      name: TokenName,
      expiresAt: Time.nullable().optional(),
      scope: z.enum(tokenScopes).default('deploy'),
      /** Code of the only organization in which the token is valid; null for all organizations of the caller, including future ones. */
      organization: z.string().min(1).max(100).nullable().default(null),
    }),
    payload: ApiToken.extend({ token: z.string() }),
    rateLimit: { calls: 60, perMs: 10 * minute },
  }),
  deleteApiToken: endpoint({
    method: 'DELETE',
    path: '/v1/user/api-tokens/{id}',
    access: 'verified',
    scope: 'session',
    summary: 'Revoke an API token immediately',
    payload: ApiToken,
  }),
  listSessions: endpoint({
    method: 'GET',
    path: '/v1/user/sessions',
    access: 'user',
    scope: 'session',
    summary: 'Sessions of the caller',
    payload: z.array(Session),
  }),
  endSessions: endpoint({
    method: 'DELETE',
    path: '/v1/user/sessions',
    access: 'user',
    scope: 'session',
    summary: 'Sign out everywhere',
    payload: z.object({ ended: z.number() }),
  }),
}

export const UserSummary = z.object({ id: Id, email: z.string(), fullName: z.string() })
