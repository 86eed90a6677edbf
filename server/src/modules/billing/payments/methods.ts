import type { PaymentMethod } from '@shoal/contract'
import type { App } from '../../../app.ts'
import { notFound, refuse } from '../../../errors.ts'
import type { OrgScope } from '../../call.ts'
import { getOrg } from '../../orgs/index.ts'
import {
  accountOf,
  addPaymentMethod,
  changeBillingAccount,
  deletePaymentMethod,
  listPaymentMethods,
  setDefaultPaymentMethod,
} from './payment-store.ts'
import type { PaymentProvider } from './provider.ts'

type Org = Pick<OrgScope, 'id' | 'code'>

/** Returns the id of the organization's customer at the provider; creates the customer on first use. */
export async function customerOf(app: App, provider: PaymentProvider, org: Org): Promise<string> {
  const { customerId } = await accountOf(app.db, org.id)
  if (customerId) return customerId
  const { name, code, email } = await getOrg(app.db, org.id)
  const newCustomerId = await provider.createCustomer({ orgId: org.id, code, name: name ?? code, email })
  await changeBillingAccount(app.db, org.id, { customerId: newCustomerId })
  return newCustomerId
}

type Write = () => Promise<PaymentMethod>

/**
 * Reads from the provider which payment method the form has set up, and adds it unless it was added already. Deletes the payment
 * method `replaces`. `inTransaction` runs the writes in a transaction.
 * @throws Refusal 404 for an unknown form or payment method; 405 when the setup did not succeed
 */
export async function replaceMethod(
  app: App,
  provider: PaymentProvider,
  org: Org,
  { clientSecret, replaces }: { clientSecret: string; replaces?: string | undefined },
  inTransaction: (write: Write) => Promise<PaymentMethod>,
): Promise<PaymentMethod> {
  if (replaces !== undefined) await requireMethod(app, org, replaces)
  const newMethod = await provider.finishSetup(await customerOf(app, provider, org), clientSecret)
  const oldMethodId = replaces === undefined || replaces === newMethod.id ? null : replaces
  await inTransaction(async () => {
    await addPaymentMethod(app.db, org.id, newMethod, app.clock.now())
    if (oldMethodId !== null) await deletePaymentMethod(app.db, org.id, oldMethodId)
    return newMethod
  })
  if (oldMethodId !== null) await provider.deleteMethod(oldMethodId)
  return newMethod
}

/**
 * Removes a payment method from the database only.
 * @throws Refusal 404 for an unknown payment method; 405 for the last one, because a billed organization must have a payment
 * method
 */
export async function removeMethod(app: App, org: Org, id: string): Promise<void> {
  const existing = await requireMethod(app, org, id)
  if (existing.length === 1)
    throw refuse('LAST_PAYMENT_METHOD', 'Add another payment method before you remove this one.')
  await deletePaymentMethod(app.db, org.id, id)
}

/** Makes a payment method the one that is charged. @throws Refusal 404 for an unknown payment method */
export async function makeMethodDefault(app: App, org: Org, id: string): Promise<void> {
  await requireMethod(app, org, id)
  await setDefaultPaymentMethod(app.db, org.id, id)
}

/** Deletes a payment method from the database and at the provider. */
export async function deleteMethod(
  app: App,
  provider: PaymentProvider,
  org: Pick<Org, 'id'>,
  id: string,
): Promise<void> {
  await deletePaymentMethod(app.db, org.id, id)
  await provider.deleteMethod(id)
}

async function requireMethod(app: App, org: Org, id: string): Promise<PaymentMethod[]> {
  const existing = await listPaymentMethods(app.db, org.id)
  if (!existing.some((method) => method.id === id)) throw notFound('Payment method')
  return existing
}
