import type { ApiToken } from '@shoal/contract'
import { Trash2 } from 'lucide-react'
import { useApiMutation } from '../../api/mutation.ts'
import { seed } from '../../api/seed.ts'
import { actionsOn, useMembership, type ActionOn } from '../../components/actions.ts'
import { toast } from '../../lib/toasts.ts'

type TokenContext = { remove: (token: ApiToken) => Promise<unknown> }

/** The actions on an API token. */
const tokenActions = {
  delete: {
    label: 'Delete',
    icon: Trash2,
    isDanger: true,
    confirm: ({ name }) => ({
      title: `Delete ${name}?`,
      body: 'Programs and command lines that use this token stop working immediately. Your squids keep running.',
      confirmLabel: 'Delete',
    }),
    run: (token, { remove }) => remove(token),
  },
} satisfies Record<string, ActionOn<ApiToken, TokenContext>>

/** Returns a function that returns the actions on an API token. */
export function useApiTokenActions() {
  const remove = useApiMutation('user.deleteApiToken', {
    invalidates: ['user.listApiTokens'],
    seeds: (client, removed) =>
      seed(client, 'user.listApiTokens', {}, (tokens) => tokens.filter(({ id }) => id !== removed.id)),
    errorDisplay: 'caller',
    onSuccess: ({ name }) => toast({ tone: 'good', title: `The token ${name} has been deleted` }),
  })
  const context = {
    membership: useMembership(),
    remove: ({ id }: ApiToken) => remove.mutateAsync({ params: { id: String(id) } }),
  }
  return (token: ApiToken) => actionsOn(tokenActions, token, context)
}
