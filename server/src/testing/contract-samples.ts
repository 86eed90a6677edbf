import type { Endpoint } from '@shoal/contract'
import type { InjectOptions } from 'fastify'

/** A valid body for every endpoint that needs one, for tests that iterate over the contract. A test fails if a body is missing. */
export const bodySamples: Record<string, unknown> = {
  'auth.signUp': {
    email: 'sample@example.com',
    fullName: 'Sample',
    password: 'long enough',
    turnstileToken: 'none',
  },
  'auth.signIn': { email: 'sample@example.com', password: 'wrong one' },
  'auth.signInWithOauth': { code: 'none', state: 'none' },
  'auth.restore': { email: 'sample@example.com' },
  'auth.confirmRestore': { password: 'long enough', token: 'none' },
  'auth.confirmEmail': { code: 'none' },
  'user.update': { fullName: 'Sample' },
  'user.completeOnboarding': {},
  'user.changePassword': { oldPassword: 'wrong one', newPassword: 'long enough' },
  'user.createApiToken': { name: 'sample' },
  'orgs.create': { code: 'sample', name: 'Sample', email: 'sample@example.com' },
  'orgs.update': { name: 'Sample' },
  'orgs.verifyEmail': { code: 'none' },
  'orgs.inviteMember': { email: 'sample@example.com' },
  'orgs.changeRole': { roleType: 'admin' },
  'squids.deploy': { artifactUrl: 'none', options: { overrideName: 'sample' } },
  'squids.query': { query: '{ __typename }' },
  'squids.rollback': { deploymentId: 1 },
  'billing.updateSettings': {
    name: 'Sample',
    email: 'sample@example.com',
    country: 'CH',
    city: 'Sample',
    postalCode: '1',
    addressLine1: 'Sample 1',
  },
  'billing.enterTestCard': { clientSecret: 'none', number: '4242424242424242', expMonth: 1, expYear: 2030, cvc: '123' },
  'billing.addPaymentMethod': { clientSecret: 'none' },
  'billing.estimate': { manifest: 'none' },
  'billing.updateLimits': { spendCapUsd: null, atCap: 'stop_deploys', rpcRequestsCap: null },
  'operators.confirmPassword': { password: 'wrong one' },
  'operators.suspendOrg': { reason: 'sample' },
  'operators.announceMaintenance': {
    message: 'sample',
    startsAt: '2030-01-01T00:00:00.000Z',
    endsAt: '2030-01-01T01:00:00.000Z',
  },
  'operators.changeLimits': { squids: 1 },
  'operators.hibernateSquid': { reason: 'sample' },
  'alerts.changeRule': { isEnabled: true, threshold: null },
  'alerts.mute': { kind: null, squidId: null, minutes: 60 },
  'alerts.addChannel': { type: 'webhook', name: 'Sample', url: 'https://example.com/alerts' },
  'alerts.changeChannel': { name: 'Sample', isEnabled: true },
  'statusPage.update': { isEnabled: false, title: 'Sample', slug: 'sample-status', tags: [], alertKinds: [] },
  'statusPage.createIncident': {
    title: 'Sample',
    impact: 'DEGRADED',
    tags: [],
    state: 'INVESTIGATING',
    text: 'Sample',
  },
  'statusPage.changeIncident': { title: 'Sample', impact: 'DEGRADED', tags: [] },
  'domains.add': { name: 'api.example.com', squid: 'sample', tag: 'prod' },
  'statusPage.addUpdate': { state: 'RESOLVED', text: 'Sample' },
  'statusPage.changeUpdate': { text: 'Sample' },
  'secrets.change': { secrets: [{ action: 'UPDATE', name: 'SAMPLE', value: 'sample' }] },
}

/** A valid query for every endpoint that needs one. */
export const querySamples: Record<string, Record<string, string>> = {
  'auth.openConfirmation': { code: 'none' },
  'orgs.openVerification': { code: 'none' },
}

/** Creates a well-formed request to an endpoint. Missing path parameters are `1`. */
export function requestFor(
  name: string,
  e: Endpoint,
  params: Record<string, string>,
  credential: string | null,
): InjectOptions & { url: string } {
  const path = e.path.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(params[key] ?? '1'))
  const query = new URLSearchParams(querySamples[name]).toString()
  const body = e.kind === 'upload' ? fileBody : { payload: bodySamples[name] as object | undefined }
  return {
    method: e.method,
    url: `/api${path}${query ? `?${query}` : ''}`,
    ...(body.payload === undefined ? {} : { payload: body.payload }),
    headers: {
      ...(e.kind === 'upload' ? fileBody.headers : {}),
      ...(credential === null ? {} : { authorization: `Bearer ${credential}` }),
    },
  }
}

const boundary = 'sample-boundary'
const fileBody = {
  headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  payload: [
    `--${boundary}`,
    'content-disposition: form-data; name="file"; filename="a.tar.gz"',
    'content-type: application/gzip',
    '',
    'no archive',
    `--${boundary}--`,
    '',
  ].join('\r\n'),
}
