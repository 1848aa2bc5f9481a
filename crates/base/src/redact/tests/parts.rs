//! Parts of secrets: what somebody who read a connection string, a cookie, an address or several lines can repeat of it.

use super::super::Secrets;

/// Secrets, and the parts of each that are hidden.
const HIDDEN: [(&str, &[&str]); 59] = [
    ("jdbc:sqlserver://h:1433;databaseName=shop;user=svc;password=Kd81qq72Zp9;encrypt=true", &["Kd81qq72Zp9"]),
    ("jdbc:sqlserver://h;databaseName=shop;user=svc;password=Kd81qq72Zp9;encrypt=true", &["Kd81qq72Zp9"]),
    ("jdbc:sqlserver://h\\inst;user=svc;password=Kd/81@qq72;Zp=9", &["Kd/81@qq72"]),
    ("jdbc:sqlserver://h;user=svc;password={Kd82;qq72}", &["Kd82;qq72"]),
    ("sqlserver://h;database=shop;user id=svc;password=Kd81qq72Zp9", &["Kd81qq72Zp9"]),
    ("sqlserver://svc:Kd81;qq72Zp9@h:1433?database=shop", &["Kd81;qq72Zp9"]),
    ("sqlserver://svc:Kd81;q=q72Zp9@h:1433?database=shop", &["Kd81;q=q72Zp9"]),
    ("jdbc:as400://h;user=svc;password=Kd81qq72Zp9;", &["Kd81qq72Zp9"]),
    ("jdbc:as400://h/lib;user=svc;password=Kd81qq72Zp9;", &["Kd81qq72Zp9"]),
    ("jdbc:oracle:thin:svc/Kd86qq72Zp9@//h:1521/S", &["Kd86qq72Zp9"]),
    ("jdbc:oracle:thin:svc/Kd86qq72Zp9@h:1521:S", &["Kd86qq72Zp9"]),
    ("scott8/tig3r-Pw-55@ORCL", &["tig3r-Pw-55"]),
    ("svc:Kd87qq72Zp9@tcp(h:3306)/db", &["Kd87qq72Zp9"]),
    ("svc:Kd87qq72Zp9@unix(/tmp/mysql.sock)/db?charset=utf8mb4", &["Kd87qq72Zp9"]),
    ("svc:Kd87@qq72Zp9@tcp(h:3306)/db", &["Kd87@qq72Zp9"]),
    ("svc:Kd88qq72Zp9@/db", &["Kd88qq72Zp9"]),
    ("svc:Kd89qq72Zp9@h:3306/db", &["Kd89qq72Zp9"]),
    ("svc:Kd89qq72Zp9@tcp(h:3306)/db?parseTime=true&loc=Local", &["Kd89qq72Zp9"]),
    ("host=h user=svc password='Ke82 qq72Zp9' dbname=shop", &["Ke82 qq72Zp9"]),
    ("host=h user=svc password = 'Ke82 qq72Zp9'", &["Ke82 qq72Zp9"]),
    ("host=h user=svc password='Ke83\\'qq72Zp9' dbname=shop", &["Ke83'qq72Zp9", "Ke83\\'qq72Zp9"]),
    ("password='Ke82 qq72Zp9'", &["Ke82 qq72Zp9"]),
    ("Server=h;User ID=svc;Password=\"Ke85;qq72Zp9\";Encrypt=True", &["Ke85;qq72Zp9"]),
    ("Server=h;User ID=svc;Password='Ke86;qq72Zp9'", &["Ke86;qq72Zp9"]),
    ("Server=h;Password=\"Ke85\"\";qq72Zp9\";Encrypt=True", &["Ke85\";qq72Zp9"]),
    ("Driver={ODBC Driver 18};Server=h;Uid=svc;Pwd={Ke87;qq72Zp9};Encrypt=yes", &["Ke87;qq72Zp9"]),
    ("Driver={ODBC Driver 18};Server=h;Pwd={Ke87}};qq72Zp9}", &["Ke87};qq72Zp9"]),
    ("Server=h;Password='Ke86qq72Zp9;Encrypt=True", &["'Ke86qq72Zp9"]),
    ("host=h,port=1,password=Kd81qq72Zp9;", &["Kd81qq72Zp9"]),
    ("h:6380,password=Kd81qq72Zp9=,ssl=True,abortConnect=False", &["Kd81qq72Zp9"]),
    ("Basic YWxpY2U6S2Y4NnFxNzJacDk", &["Kf86qq72Zp9"]),
    ("Basic YWxpY2U6S2Y4NnFxNzJacDk=", &["Kf86qq72Zp9"]),
    ("alice:correct horse battery", &["correct horse battery"]),
    ("sid=s3ss10n-ab12cd; lang=en", &["s3ss10n-ab12cd"]),
    ("session=Kx81-qq72-Zp9; lang=en", &["Kx81-qq72-Zp9"]),
    ("PHPSESSID=ab12-cd34-ef56", &["ab12-cd34-ef56"]),
    ("theme=dark; PHPSESSID=ab12-cd34-ef56;lang=en", &["ab12-cd34-ef56"]),
    ("connect.sid=s%3Aab12-cd34.ef56-gh78", &["s%3Aab12-cd34.ef56-gh78", "s:ab12-cd34.ef56-gh78"]),
    ("csrf=red-fox-77; Path=/; HttpOnly", &["red-fox-77"]),
    ("_shop_id=1234-5678-90; lang=en", &["1234-5678-90"]),
    ("Cookie: lang=en; sid=ab12-cd34-ef56", &["ab12-cd34-ef56"]),
    ("Kx81-qq72-Zp9\nWw55-mm31-Yt4", &["Kx81-qq72-Zp9", "Ww55-mm31-Yt4"]),
    ("1234-5678-90\r\n9876-5432-10", &["1234-5678-90", "9876-5432-10"]),
    ("my-backup-code-1\nred fox 77", &["my-backup-code-1", "red fox 77"]),
    ("https://hooks.example.com/in/red-fox-77/p4th-tok-X9", &["red-fox-77", "p4th-tok-X9"]),
    ("https://hooks.example.com/webhook/correct-horse-battery-staple", &["correct-horse-battery-staple"]),
    ("https://chat.example.com/api/webhooks/1234567890/dIsc0rd-tok_ABCdef57", &["dIsc0rd-tok_ABCdef57"]),
    ("https://hooks.example.com/api/v1/red-fox-77?wait=true", &["red-fox-77"]),
    ("org.apache.kafka.common.security.plain.PlainLoginModule required username=\"bob\" password=\"Ka7fKpa5s9\";", &["Ka7fKpa5s9"]),
    ("ScramLoginModule required username='bob' password='red-fox-77' ;", &["red-fox-77"]),
    ("mysql -h db.example.com -u bob -pMy5qLp91zz", &["My5qLp91zz"]),
    ("-u bob -pred-fox-77 shop", &["red-fox-77"]),
    ("tool --user bob --password red-fox-77 --token 'Ww55-mm31-Yt4'", &["red-fox-77", "Ww55-mm31-Yt4"]),
    ("<server><id>x</id><password>red-fox-77</password></server>", &["red-fox-77"]),
    ("<add name=\"a b\" connectionString=\"Server=x;Password=red-fox-77;Encrypt=True\" />", &["red-fox-77"]),
    (
        "<?xml version=\"1.0\"?>\n<dict>\n  <key>Token</key>\n  <string>red-fox-77</string>\n  <key>id</key><string>x</string>\n</dict>",
        &["red-fox-77"],
    ),
    (
        "AKIAIOSFODNN7EXAMPLE,wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        &["AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"],
    ),
    ("user|bob|Ka7fKpa5s9", &["Ka7fKpa5s9"]),
    ("bob;Ka7fKpa5s9", &["Ka7fKpa5s9"]),
];

/// Secrets, and words of each that stay readable.
const READABLE: [(&str, &[&str]); 15] = [
    (
        "<add name=\"orders_2025\" connectionString=\"Server=db-1.example.com;Password=red-fox-77\" />",
        &["orders_2025", "db-1.example.com", "connectionString"],
    ),
    ("mysql -h db-1.example.com -u reader-2025 -pMy5qLp91zz orders_2025", &["db-1.example.com", "reader-2025", "orders_2025", "mysql"]),
    ("eu-west-1|reader-2025|Ka7fKpa5s9", &["eu-west-1", "reader-2025"]),
    (
        "jdbc:sqlserver://db-1.example.com:1433;databaseName=orders_2025;user=reader-2025;password=Kd81qq72Zp9;encrypt=true",
        &["db-1.example.com", "1433", "orders_2025", "reader-2025", "encrypt", "databaseName"],
    ),
    ("svc:Kd87qq72Zp9@tcp(db-1.example.com:3306)/orders_2025?charset=utf8mb4", &["db-1.example.com", "3306", "orders_2025", "utf8mb4"]),
    ("jdbc:oracle:thin:reader-2025/Kd86qq72Zp9@//db-1.example.com:1521/ORDERS_2025", &["db-1.example.com", "ORDERS_2025", "oracle"]),
    (
        "Server=db-1.example.com; Database=orders_2025; Uid=reader-2025; Pwd=Kd81qq72Zp9",
        &["orders_2025", "reader-2025", "db-1.example.com"],
    ),
    ("dbname=orders_2025", &["orders_2025"]),
    (
        "session=Kx81-qq72-Zp9; lang=en; seen=2025-11-28; Path=/app-2025; Domain=shop-1.example.com",
        &["en", "2025-11-28", "/app-2025", "shop-1.example.com"],
    ),
    ("alice:correct horse battery", &["alice", "correct", "horse", "battery"]),
    ("my-backup-code-1\nmy-backup-code-2", &["backup", "code", "my"]),
    ("region = us-east-1\nhost: db-1.example.com\n2025-11-28", &["us-east-1", "db-1.example.com", "2025-11-28"]),
    ("https://hooks.example.com/api/v1/webhooks/1234567890/red-fox-77", &["hooks.example.com", "webhooks", "1234567890", "v1", "api"]),
    ("https://api.example.com/my-project-42/orders?api_key=Kd81qq72Zp9", &["my-project-42", "orders", "api.example.com"]),
    ("https://reader:Kd81qq72Zp9@api.example.com/my-project-42", &["my-project-42", "api.example.com"]),
];

#[test]
fn what_lets_in_by_itself_is_hidden() {
    let mut wrong = vec![];
    for (secret, parts) in HIDDEN {
        for secrets in [Secrets::new([secret]), Secrets::for_logs([secret])] {
            for part in parts {
                let hidden = secrets.hide(&format!("no access for <{part}> today")).into_owned();
                if hidden != "no access for <***> today" {
                    wrong.push(format!("{secret}: {hidden}"));
                }
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn what_says_where_stays_readable() {
    let mut wrong = vec![];
    for (secret, words) in READABLE {
        let secrets = Secrets::new([secret]);
        for word in words {
            let text = format!("see <{word}> there");
            let hidden = secrets.hide(&text).into_owned();
            if hidden != text {
                wrong.push(format!("{secret}: {word}"));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn of_an_address_no_more_than_its_host_is_told() {
    for path in
        ["/redir/T0AB1/red-fox-77", "/hooks/red-fox", "/x/1234567", "/x/1", "/orders", "/a/b/", "/services/webhooks", "/v1/k%C3%A9y"]
    {
        for (login, host, asked) in
            all_of(["", "bob:Kd81qq72Zp9@"], ["127.0.0.1:8778", "hooks.example.com"], ["", "?sig=Zz9Yy8Xx7w", "?a=b", "#t=1"])
        {
            for scheme in ["http", "https", "HTTPS", "wss"] {
                let secret = format!("{scheme}://{login}{host}{path}{asked}");
                for secrets in [Secrets::new([&*secret]), Secrets::for_logs([&*secret])] {
                    for shown in [format!("{scheme}://{host}{path}"), format!("{scheme}://{host}{path}{asked}"), secret.clone()] {
                        let hidden = secrets.hide(&format!("POST {shown} failed")).into_owned();
                        assert!(!hidden.contains(path.trim_end_matches('/')), "{secret}: {hidden}");
                    }
                    if path.matches('/').count() > 1 && path.len() > 7 {
                        assert_eq!(secrets.hide(&format!("POST {path} failed")), "POST *** failed", "{secret}");
                    }
                    let plain = format!("see {host} and /a, /x and orders");
                    assert_eq!(secrets.hide(&plain), plain, "{secret}");
                }
            }
        }
    }
}

/// Each of the first with each of the second and of the third.
fn all_of<'a>(first: [&'a str; 2], second: [&'a str; 2], third: [&'a str; 4]) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
    first.into_iter().flat_map(move |a| second.into_iter().flat_map(move |b| third.into_iter().map(move |c| (a, b, c))))
}
