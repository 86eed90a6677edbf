import { useSyncExternalStore } from 'react'

/** What this browser remembers, under the keys of spec 3. */
export type LocalSettings = {
  /** The session's token. */
  user_token: string | null
  /** Id of the selected organization. */
  userOrg: number | null
  tmp_invites_checked: boolean
  /** Step of the guided tour. */
  onboardingGuide: number
  theme: 'light' | 'dark'
}

const initial: LocalSettings = {
  user_token: null,
  userOrg: null,
  tmp_invites_checked: false,
  onboardingGuide: 0,
  theme: 'light',
}

const fits: { [K in keyof LocalSettings]: (value: unknown) => value is LocalSettings[K] } = {
  user_token: (value): value is string => typeof value === 'string',
  userOrg: (value): value is number => typeof value === 'number',
  tmp_invites_checked: (value): value is boolean => typeof value === 'boolean',
  onboardingGuide: (value): value is number => typeof value === 'number',
  theme: (value): value is 'light' | 'dark' => value === 'light' || value === 'dark',
}

const listeners = new Set<() => void>()

/** The stored value, or its default when there is none or it makes no sense. */
export function getSetting<K extends keyof LocalSettings>(key: K): LocalSettings[K] {
  const text = localStorage.getItem(key)
  if (text === null) return initial[key]
  const value = typeof initial[key] === 'string' || key === 'user_token' ? text : parsed(text)
  return fits[key](value) ? value : initial[key]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Null forgets. */
export function setSetting<K extends keyof LocalSettings>(key: K, value: LocalSettings[K]): void {
  if (value === null) localStorage.removeItem(key)
  else localStorage.setItem(key, String(value))
  for (const tell of listeners) tell()
}

/** Forgets everything but the theme: what logging out does (spec 4). */
export function forgetSession(): void {
  for (const key of Object.keys(initial)) if (key !== 'theme') localStorage.removeItem(key)
  for (const tell of listeners) tell()
}

/** Calls back after a change in this tab or in another one. Returns the way to stop. */
export function onSettingChange(tell: () => void): () => void {
  listeners.add(tell)
  window.addEventListener('storage', tell)
  return () => {
    listeners.delete(tell)
    window.removeEventListener('storage', tell)
  }
}

/** The value of a setting, kept current. */
export function useSetting<K extends keyof LocalSettings>(key: K): LocalSettings[K] {
  return useSyncExternalStore(onSettingChange, () => getSetting(key))
}
