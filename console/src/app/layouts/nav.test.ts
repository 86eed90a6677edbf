import { planLabels, type Org, type OrgStatus } from '@shoal/contract'
import { expect, test } from 'vitest'
import { navItems } from './nav.ts'

const org = (playground: boolean, status: OrgStatus = 'ACTIVE'): Org => ({
  id: 1,
  code: 'acme',
  name: 'Acme',
  email: { email: null, pendingEmail: null },
  status,
  roleType: 'admin',
  limits: { squids: 3, playground },
  billingDetails: null,
  suspension: null,
})
const labels = (...args: Parameters<typeof navItems>) => navItems(...args).map(({ label }) => label)

test('an organization has all entries, but Portal only with the beta flag (spec 2.3)', () => {
  expect(labels(org(false), true)).toEqual([
    'Squids',
    'Monitoring',
    'Secrets',
    'RPC endpoints',
    'Portal',
    'Billing',
    'Organization settings',
  ])
  expect(labels(org(false), false)).not.toContain('Portal')
})

test('users with several organizations have a home page', () =>
  expect(labels(org(false), false, true).slice(0, 2)).toEqual(['Home', 'Squids']))

test('the playground has neither billing, RPC nor Portal', () => {
  expect(labels(org(true), true)).toEqual(['Squids', 'Monitoring', 'Secrets', 'Playground settings'])
})

test.each([
  ['ACTIVE', undefined],
  ['DRAFT', undefined],
  ['PAYMENT_ISSUES', 'warn'],
  ['IN_DEBT', 'bad'],
  ['TERMINATED', 'bad'],
] as const)('in an organization that is %s, the tone of the warning on Billing is %s', (status, tone) => {
  expect(navItems(org(false, status), false).find(({ label }) => label === 'Billing')?.warning?.tone).toBe(tone)
})

test('each status of an organization has its plan label (spec 2.3)', () => {
  expect(planLabels).toEqual({
    DRAFT: 'Billing not set',
    ACTIVE: 'Professional',
    PAYMENT_ISSUES: 'Payment issue',
    IN_DEBT: 'Unpaid',
    TERMINATED: 'Unpaid',
  })
})

test('Monitoring, RPC endpoints and Portal are marked as beta, and each entry has its own hotkey', () => {
  const items = navItems(org(false), true)
  expect(items.filter(({ isBeta }) => isBeta).map(({ label }) => label)).toEqual([
    'Monitoring',
    'RPC endpoints',
    'Portal',
  ])
  expect(new Set(items.map(({ key }) => key)).size).toBe(items.length)
})
