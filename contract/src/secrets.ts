import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { SecretName, SecretValue, Time } from './fields.ts'

/** Names with masked values: stored values are never shown again (spec 2.12). */
export const Secrets = z.object({ secrets: z.record(z.string(), z.string()) })

export const SecretChange = z.discriminatedUnion('action', [
  z.object({ action: z.literal('UPDATE'), name: SecretName, value: SecretValue }),
  z.object({ action: z.literal('DELETE'), name: z.string() }),
])
export type SecretChange = z.infer<typeof SecretChange>

/**
 * A secret, and the versions whose programs have it as an environment variable or will have it after the version's next deploy, restart or
 * rollback.
 */
export const SecretUse = z.object({
  name: z.string(),
  updatedAt: Time,
  versions: z.array(
    z.object({
      name: z.string(),
      slot: z.string(),
      /** `name@slot` */
      reference: z.string(),
      /** True if the version runs without the secret or with its previous value until it is restarted. */
      isOutdated: z.boolean(),
    }),
  ),
})
export type SecretUse = z.infer<typeof SecretUse>

export const secrets = {
  list: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/secrets',
    access: 'member',
    scope: 'read',
    summary: 'Names of the secrets, with masked values',
    payload: Secrets,
  }),
  listUses: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/secrets/uses',
    access: 'member',
    scope: 'read',
    summary: 'When each secret was last set, and the versions that use it',
    payload: z.array(SecretUse),
  }),
  change: endpoint({
    method: 'PUT',
    path: '/v1/orgs/{code}/secrets',
    access: 'secrets.write',
    scope: 'deploy',
    summary: 'Set and delete secrets; applied by the next deploy, restart or rollback',
    body: z.object({ secrets: z.array(SecretChange).min(1).max(100) }),
    payload: Secrets,
  }),
}
