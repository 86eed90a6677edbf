import { Suspense } from 'react'
import { useApiMutation } from '../../api/mutation.ts'
import { seedUser } from '../../api/seed-session.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { q } from '../../api/query.ts'
import { useUser } from '../../api/session.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { modKey } from '../../lib/hotkeys.ts'
import { setSetting, useSetting } from '../../lib/local-settings.ts'
import { toast } from '../../lib/toasts.ts'
import { Card } from '../../ui/Card.tsx'
import { Kbd } from '../../ui/Kbd.tsx'
import { Switch } from '../../ui/Switch.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { PasswordForm } from './PasswordForm.tsx'
import { lazyPart } from '../../lib/lazy.tsx'

const Sessions = lazyPart(() => import('./Sessions.tsx'))

export const prefetch: Prefetch = ({ client }) => {
  void client.prefetchQuery(q('user.listSessions', {}))
  void client.prefetchQuery(q('user.listApiTokens', {}))
  void Sessions.preload()
}

/** The user's profile, password, shortcuts and sessions (spec 2.12, `/profile/settings`). */
export default function AccountSettingsPage() {
  return (
    <div className="flex max-w-200 flex-col gap-5">
      <div>
        <PageHeader title="Account settings" />
        <Card title="Profile" isPadded>
          <ProfileForm />
        </Card>
      </div>
      <Card title="Password" isPadded>
        <PasswordForm />
      </Card>
      <Card title="Keyboard" isPadded>
        <SingleKeysSwitch />
      </Card>
      <Suspense>
        <Sessions />
      </Suspense>
    </div>
  )
}

/** A switch that turns the shortcuts without a modifier on and off, in this browser. */
function SingleKeysSwitch() {
  const isOn = useSetting('singleKeys')
  return (
    <>
      <Switch
        checked={isOn}
        onChange={({ target }) => setSetting('singleKeys', target.checked)}
        aria-describedby="single-keys-note"
      >
        Single-key shortcuts
      </Switch>
      <p id="single-keys-note" className="mt-1 ml-10.5 text-sm text-ink-2">
        Such as <Kbd keys="/" /> to search and <Kbd keys="g s" /> to open the squids, in this browser. Turn them off if
        you dictate text or press keys by accident. <Kbd keys={`${modKey} K`} /> always works.
      </p>
    </>
  )
}

function ProfileForm() {
  const { fullName, email, username } = useUser()
  const rename = useApiMutation('user.update', {
    invalidates: ['user.get'],
    seeds: seedUser,
    errorDisplay: 'caller',
    onSuccess: () => toast({ tone: 'good', title: 'Your name has been changed' }),
  })
  return (
    <FormShell
      schema={({ contract }) => contract.user.update.body}
      values={{ fullName }}
      onSubmit={(body) => rename.mutate({ body })}
      isPending={rename.isPending}
      submitError={rename.error}
      submitLabel="Save"
    >
      {({ field }) => (
        <>
          <TextField label="Full name" autoComplete="name" className="max-w-100" {...field('fullName')} />
          <TextField
            label="Email"
            value={email || username}
            readOnly
            description="The email cannot be changed."
            className="max-w-100"
          />
        </>
      )}
    </FormShell>
  )
}
