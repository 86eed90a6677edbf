import type { NewChannel } from '@shoal/contract'
import { useState } from 'react'
import { useApiMutation } from '../../../api/mutation.ts'
import { FormShell } from '../../../components/FormShell.tsx'
import { LazyDialog } from '../../../components/LazyDialog.tsx'
import { toast } from '../../../lib/toasts.ts'
import { Button } from '../../../ui/Button.tsx'
import { RadioGroup } from '../../../ui/RadioGroup.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import { SigningSecret } from './SigningSecret.tsx'

const types = [
  { value: 'webhook', label: 'Webhook', description: 'Signed JSON to a program of yours.' },
  {
    value: 'slack',
    label: 'Slack',
    description: 'A message to a channel, by an incoming webhook of Slack or what takes the same.',
  },
] as const

const urlHints: Record<NewChannel['type'], string> = {
  webhook: 'Where alerts are posted to.',
  slack: 'As good as a password: it is shown to nobody afterwards.',
}

const initial: NewChannel = { type: 'webhook', name: '', url: '' }

/** Adds a channel. Of a webhook it then shows the signing secret, which must not be lost to a press beside the dialog. */
export default function AddChannelDialog({ code, onClose }: { code: string; onClose: () => void }) {
  const [signingSecret, setSigningSecret] = useState<string | null>(null)
  const add = useApiMutation('alerts.addChannel', {
    invalidates: ['alerts.listChannels'],
    errorDisplay: 'caller',
    onSuccess: ({ channel, signingSecret: secret }) => {
      setSigningSecret(secret)
      if (secret !== null) return
      toast({ tone: 'good', title: `${channel.name} is told of alerts from now on` })
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
        pending={add.isPending}
        submitError={add.error}
        submitLabel="Add"
        isGuarded={false}
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
            <TextField label="Name" description="As in on-call, ops room." autoComplete="off" {...field('name')} />
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
