import type { Migration } from '@guildhall/db'

/** People, and the ways in which they prove who they are. Tokens are kept as SHA-256 alone. */
export const createUsers: Migration = {
  up: async (trx) => {
    await trx.raw(`
      create table users (
        user_id integer generated always as identity,
        username text not null,
        -- null: only login links so far
        password_hash text,
        created_at timestamptz not null,
        constraint users_pkey primary key (user_id),
        constraint users_username_key unique (username),
        constraint users_username_check check (char_length(username) between 1 and 100)
      );

      create table login_links (
        token_sha256 text not null,
        user_id integer not null,
        created_at timestamptz not null,
        expires_at timestamptz not null,
        used_at timestamptz,
        -- digest of the idempotency key that used it: a repeat of that one call is not a second use
        used_key_hash text,
        constraint login_links_pkey primary key (token_sha256),
        constraint login_links_user_id_fkey foreign key (user_id) references users
      );

      -- for the sweep of old links
      create index login_links_expires_at on login_links (expires_at);

      -- attempts, not failures: each is counted before its password is looked at, so that guesses
      -- in parallel cannot slip past the limit, and given back when it succeeds
      create table login_attempts (
        bucket text not null,
        window_started_at timestamptz not null,
        attempts integer not null,
        constraint login_attempts_pkey primary key (bucket),
        constraint login_attempts_attempts_check check (attempts >= 0)
      );

      -- for the sweep of closed windows
      create index login_attempts_window_started_at on login_attempts (window_started_at);

      create table api_tokens (
        token_id text collate "C" not null,
        user_id integer not null,
        name text not null,
        token_sha256 text not null,
        prefix text not null,
        created_at timestamptz not null,
        expires_at timestamptz,
        revoked_at timestamptz,
        constraint api_tokens_pkey primary key (token_id),
        constraint api_tokens_token_sha256_key unique (token_sha256),
        constraint api_tokens_user_id_fkey foreign key (user_id) references users
      );

      -- for list_api_tokens and its ceiling
      create index api_tokens_live on api_tokens (user_id, token_id) where revoked_at is null;
    `)
  },
}
