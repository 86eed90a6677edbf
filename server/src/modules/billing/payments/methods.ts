import type { PaymentMethod } from '@shoal/contract'
import type { App } from '../../../app.ts'
import { notFound, refuse } from '../../../errors.ts'
import type { OrgScope } from '../../call.ts'
import { getOrg } from '../../orgs/index.ts'
import {
  accountOf,
  addPaymentMethod,
  changeAccount,
  deletePaymentMethod,
  listPaymentMethods,
  makeDefault,
} from './payment-store.ts'
import type { PaymentProvider } from './provider.ts'

type Org = Pick<OrgScope, 'id' | 'code'>

/** The provider's customer of the organization; created on first use. */
export async function customerOf(app: App, provider: PaymentProvider, org: Org): Promise<string> {
  const { customerId } = await accountOf(app.db, org.id)
  if (customerId) return customerId
  const { name, code, email } = await getOrg(app.db, org.id)
  const created = await provider.createCustomer({ orgId: org.id, code, name: name ?? code, email })
  await changeAccount(app.db, org.id, { customerId: created })
  return created
}

type Write = () => Promise<PaymentMethod>

/**
 * Adds the payment method that the form has set up, read from the provider; adding it twice has no effect. Deletes the one it
 * `replaces`. `writing` runs the writes in a transaction. @throws Refusal 404
 */
export async function replaceMethod(
  app: App,
  provider: PaymentProvider,
  org: Org,
  { clientSecret, replaces }: { clientSecret: string; replaces?: string | undefined },
  writing: (write: Write) => Promise<PaymentMethod>,
): Promise<PaymentMethod> {
  if (replaces !== undefined) await requireMethod(app, org, replaces)
  const added = await provider.finishSetup(await customerOf(app, provider, org), clientSecret)
  const replaced = replaces === undefined || replaces === added.id ? null : replaces
  await writing(async () => {
    await addPaymentMethod(app.db, org.id, added, app.clock.now())
    if (replaced !== null) await deletePaymentMethod(app.db, org.id, replaced)
    return added
  })
  if (replaced !== null) await provider.deleteMethod(replaced)
  return added
}

/** In our database only. @throws Refusal 404; 405 for the last one, because a billed organization must have one */
export async function removeMethod(app: App, org: Org, id: string): Promise<void> {
  const existing = await requireMethod(app, org, id)
  if (existing.length === 1)
    throw refuse('LAST_PAYMENT_METHOD', 'Add another payment method before you remove this one.')
  await deletePaymentMethod(app.db, org.id, id)
}

/** @throws Refusal 404 */
export async function makeMethodDefault(app: App, org: Org, id: string): Promise<void> {
  await requireMethod(app, org, id)
  await makeDefault(app.db, org.id, id)
}

/** In our database and at the provider. */
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
