import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import type { Handlers } from '../call.ts'
import { listSecretNames } from '../secrets/index.ts'
import { receivesSecretAutomatically } from '../manifest/index.ts'
import { listVersionsWithSecrets } from './secret-uses-store.ts'

/** Lists the versions that use each secret. The handler is in this module because `secrets` may not import `versions`. */
export function secretUseHandlers(app: App): Pick<Handlers<Contract['secrets']>, 'listUses'> {
  return {
    listUses: async ({ org }) => {
      const [secrets, versions] = await Promise.all([
        listSecretNames(app, org.id),
        listVersionsWithSecrets(app.db, org.id),
      ])
      return secrets.map((secret) => ({
        ...secret,
        versions: versions
          .filter(
            (row) =>
              row.secretNames.includes(secret.name) || receivesSecretAutomatically(secret.name, row.manifestCurrent),
          )
          .map(({ name, slot, desiredState, secretsReadAt }) => ({
            name,
            slot,
            reference: `${name}@${slot}`,
            isOutdated: desiredState === 'running' && secretsReadAt !== null && secret.updatedAt > secretsReadAt,
          })),
      }))
    },
  }
}
