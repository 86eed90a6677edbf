import type { NewChannel } from '@shoal/contract'
import { useState } from 'react'
import { seedChannel } from '../../../api/alerts.ts'
import { useApiMutation } from '../../../api/mutation.ts'
import { FormShell } from '../../../components/FormShell.tsx'
import { LazyDialog } from '../../../components/LazyDialog.tsx'
import { toast } from '../../../lib/toasts.ts'
import { Button } from '../../../ui/Button.tsx'
import { RadioGroup } from '../../../ui/RadioGroup.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import { SigningSecret } from './SigningSecret.tsx'

const types = [
  { value: 'webhook', label: 'Webhook', description: 'Sends signed JSON to your server.' },
  {
    value: 'slack',
    label: 'Slack',
    description: 'Posts to a channel through an incoming webhook of Slack or a compatible service.',
  },
] as const

const urlHints: Record<NewChannel['type'], string> = {
  webhook: 'Shoal posts alerts to this URL.',
  slack: 'Treated like a password: it is never shown again.',
}

const initial: NewChannel = { type: 'webhook', name: '', url: '' }

/** Adds a channel. After the user has added a webhook, the dialog shows the signing secret, and a click outside does not close it. */
export default function AddChannelDialog({ code, onClose }: { code: string; onClose: () => void }) {
  const [signingSecret, setSigningSecret] = useState<string | null>(null)
  const add = useApiMutation('alerts.addChannel', {
    invalidates: ['alerts.listChannels'],
    seeds: (client, { channel }) => seedChannel(client, code, channel),
    errorDisplay: 'caller',
    onSuccess: ({ channel, signingSecret: secret }) => {
      setSigningSecret(secret)
      if (secret !== null) return
      toast({ tone: 'good', title: `${channel.name} now receives alerts` })
      onClose()
    },
  })
  if (signingSecret !== null) return <SigningSecret secret={signingSecret} onClose={onClose} />
  return (
    <LazyDialog title="Add channel" isOpen onClose={onClose}>
      <FormShell
        schema={({ contract }) => contract.alerts.addChannel.body}
        values={initial}
        onSubmit={(body) => add.mutate({ params: { code }, body })}
        isPending={add.isPending}
        submitError={add.error}
        submitLabel="Add"
        warnsAboutUnsavedChanges={false}
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        {({ field, form }) => (
          <>
            <RadioGroup
              label="Type"
              options={types}
              value={form.watch('type')}
              onChange={(type) => form.setValue('type', type, { shouldDirty: true })}
            />
            <TextField
              label="Name"
              description="For example, on-call or ops room."
              autoComplete="off"
              {...field('name')}
            />
            <TextField
              label="URL"
              type="url"
              isMono
              description={urlHints[form.watch('type')]}
              placeholder="https://"
              autoComplete="off"
              {...field('url')}
            />
          </>
        )}
      </FormShell>
    </LazyDialog>
  )
}
