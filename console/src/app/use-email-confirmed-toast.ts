import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { toast, type Toast } from '../lib/toasts.ts'

const confirmed: Toast = { tone: 'good', title: 'Your email is confirmed.' }
const refused: Toast = {
  tone: 'warn',
  title: 'This confirmation link is no longer good',
  message: 'Sign in if you are not, and press Resend verification for a new one.',
}

/** The link of a confirmation mail ends in the console with `emailConfirmed`, on the sign-in page or in the app. */
export function useEmailConfirmedToast(): void {
  const { emailConfirmed } = useSearch({ from: '__root__' })
  const navigate = useNavigate()
  useEffect(() => {
    if (emailConfirmed === undefined) return
    toast(emailConfirmed === 'true' ? confirmed : refused)
    // Said once: reloading the page must not say it again.
    void navigate({ to: '.', search: (search) => ({ ...search, emailConfirmed: undefined }), replace: true })
  }, [emailConfirmed, navigate])
}
