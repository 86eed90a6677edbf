import type { SecretUse } from '@shoal/contract'
import { useNavigate } from '@tanstack/react-router'
import { Pencil, Trash2 } from 'lucide-react'
import { useOrg } from '../../api/active-org.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { seed } from '../../api/seed.ts'
import { actionsOn, useMembership, type ActionOn } from '../../components/actions.ts'
import { toast } from '../../lib/toasts.ts'

type SecretContext = Record<'edit' | 'remove', (secret: SecretUse) => unknown>

/** The actions on a secret. */
const secretActions = {
  edit: { label: 'Edit value', icon: Pencil, permission: 'secrets.write', run: (secret, { edit }) => edit(secret) },
  delete: {
    label: 'Delete',
    icon: Trash2,
    isDanger: true,
    permission: 'secrets.write',
    confirm: (secret) => ({
      title: `Delete ${secret.name}?`,
      body: <DeleteText secret={secret} />,
      confirmLabel: 'Delete',
    }),
    run: (secret, { remove }) => remove(secret),
  },
} satisfies Record<string, ActionOn<SecretUse, SecretContext>>

/** Returns a function that returns the actions on a secret. */
export function useSecretActions() {
  const { code } = useOrg()
  const navigate = useNavigate()
  const change = useApiMutation('secrets.change', {
    invalidates: ['secrets.listUses'],
    seeds: (client, { secrets }) =>
      seed(client, 'secrets.listUses', { params: { code } }, (uses) => uses.filter(({ name }) => name in secrets)),
    errorDisplay: 'caller',
    onSuccess: (_, { body: { secrets } }) =>
      toast({ tone: 'good', title: `The secret ${secrets[0]?.name} has been deleted` }),
  })
  const context = {
    membership: useMembership(),
    edit: ({ name }: SecretUse) => navigate({ to: '/secrets/edit/$name', params: { name } }),
    remove: ({ name }: SecretUse) =>
      change.mutateAsync({ params: { code }, body: { secrets: [{ action: 'DELETE', name }] } }),
  }
  return (secret: SecretUse) => actionsOn(secretActions, secret, context)
}

function DeleteText({ secret: { versions } }: { secret: SecretUse }) {
  if (versions.length === 0) return <>No version uses it. Its value cannot be restored.</>
  return (
    <>
      Its value cannot be restored. {versions.map(({ reference }) => reference).join(', ')}{' '}
      {versions.length === 1 ? 'keeps it until its' : 'keep it until their'} next restart. A version that references it
      in its manifest cannot be restarted or deployed without it.
    </>
  )
}
