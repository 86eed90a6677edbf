import type { AlertChannel } from '@shoal/contract'
import { useOrg } from '../../../api/active-org.ts'
import { seedChannel } from '../../../api/alerts.ts'
import { useApiMutation } from '../../../api/mutation.ts'
import { FormShell } from '../../../components/FormShell.tsx'
import { LazyDialog } from '../../../components/LazyDialog.tsx'
import { Button } from '../../../ui/Button.tsx'
import { TextField } from '../../../ui/TextField.tsx'

type Props = { channel: AlertChannel; onClose: () => void }

const urlHints = {
  webhook: 'Messages keep the same signing secret.',
  slack: 'The current URL is never shown. Leave this empty to keep it.',
}

/** Changes the name or URL of a channel. The email channel always uses the organization's address. */
export default function EditChannelDialog({ channel: { id, type, name, target, isEnabled }, onClose }: Props) {
  const { code } = useOrg()
  const change = useApiMutation('alerts.changeChannel', {
    invalidates: ['alerts.listChannels', 'alerts.listDeliveries'],
    seeds: (client, changed) => seedChannel(client, code, changed),
    errorDisplay: 'caller',
    onSuccess: onClose,
  })
  const saved = { name, url: type === 'webhook' ? (target ?? '') : '' }
  const save = (edited: typeof saved) =>
    change.mutate({
      params: { code, channelId: String(id) },
      body: { name: edited.name, isEnabled, ...(edited.url !== saved.url && { url: edited.url }) },
    })
  return (
    <LazyDialog title={`Edit ${name}`} isOpen onClose={onClose}>
      <FormShell
        schema={({ contract, z }) => {
          const fields = contract.alerts.addChannel.body.shape
          return z.object({ name: fields.name, url: type === 'webhook' ? fields.url : z.literal('').or(fields.url) })
        }}
        values={saved}
        onSubmit={save}
        isPending={change.isPending}
        submitError={change.error}
        submitLabel="Save"
        warnsAboutUnsavedChanges={false}
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        {({ field }) => (
          <>
            <TextField label="Name" autoComplete="off" {...field('name')} />
            {type !== 'email' && (
              <TextField
                label="URL"
                type="url"
                isMono
                description={urlHints[type]}
                placeholder={type === 'slack' ? (target ?? undefined) : 'https://'}
                autoComplete="off"
                {...field('url')}
              />
            )}
          </>
        )}
      </FormShell>
    </LazyDialog>
  )
}
