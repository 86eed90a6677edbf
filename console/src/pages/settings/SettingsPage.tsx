import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { orgTitle, useOrg } from '../../api/active-org.ts'
import { PageHeader } from '../../components/PageHeader.tsx'
import { toast, type Toast } from '../../lib/toasts.ts'
import { OrgSettings } from './OrgSettings.tsx'
import { PlaygroundSettings } from './PlaygroundSettings.tsx'

/** Spec 2.6, `/settings`. The link of a confirmation mail ends here, with `emailVerified`. */
export default function SettingsPage() {
  const org = useOrg()
  useEmailVerifiedToast()
  return (
    <div className="max-w-200">
      {org.limits.playground ? (
        <>
          <PageHeader title="Playground settings" context="Your personal workspace, free for one squid." />
          <PlaygroundSettings org={org} />
        </>
      ) : (
        <>
          <PageHeader title="Organization settings" context={orgTitle(org)} />
          <OrgSettings org={org} />
        </>
      )}
    </div>
  )
}

const verified: Toast = {
  tone: 'good',
  title: 'Email of organization is now verified. It will be used to receive notifications.',
}
const refused: Toast = {
  tone: 'warn',
  title: 'This link is no longer good',
  message: 'Press Resend verification for a new one.',
}

function useEmailVerifiedToast(): void {
  const { emailVerified } = useSearch({ from: '/app/settings' })
  const navigate = useNavigate()
  useEffect(() => {
    if (emailVerified === undefined) return
    toast(emailVerified === 'true' ? verified : refused)
    // Said once: reloading the page must not say it again.
    void navigate({ to: '/settings', search: (search) => ({ ...search, emailVerified: undefined }), replace: true })
  }, [emailVerified, navigate])
}
