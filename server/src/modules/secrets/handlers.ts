import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import type { Handlers } from '../call.ts'
import { changeSecrets, listSecretNames } from './secrets.ts'

/** Replaces every value in responses (spec 2.12). */
const mask = '***'

export function secretsHandlers(app: App): Pick<Handlers<Contract['secrets']>, 'list' | 'change'> {
  const maskedSecrets = async (orgId: number) => ({
    secrets: Object.fromEntries((await listSecretNames(app, orgId)).map(({ name }) => [name, mask])),
  })
  return {
    list: ({ org }) => maskedSecrets(org.id),
    change: async ({ org, actor, body, request }) => {
      await changeSecrets(app, org.id, actor.userId, body.secrets)
      request.audit({
        subject: body.secrets.map((change) => change.name.toUpperCase()).join(', '),
        after: body.secrets.map((change) => ({ action: change.action, name: change.name.toUpperCase() })),
      })
      return maskedSecrets(org.id)
    },
  }
}
